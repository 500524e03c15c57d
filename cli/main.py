"""The command `fencepost`: which commands there are, and how each of them ends."""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from importlib.metadata import version
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

import click
from fencepost.cli.commands.ablate import ablate
from fencepost.cli.commands.check import check
from fencepost.cli.commands.diff import diff
from fencepost.cli.commands.faults import faults
from fencepost.cli.commands.graph import graph
from fencepost.cli.commands.guarantees import guarantees
from fencepost.cli.commands.listing import list_protocols
from fencepost.cli.commands.prove import prove
from fencepost.cli.commands.replay import replay, show
from fencepost.cli.commands.shrink import shrink
from fencepost.cli.commands.simulate import simulate
from fencepost.cli.commands.sweep import sweep
from fencepost.cli.commands.vacuity import vacuity
from fencepost.cli.failures import debugging, explain
from fencepost.cli.status import Exit
from fencepost.cli.views.console import close_stdout
from fencepost.model.language.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence


class Commands(click.Group):
    """A group of commands that ends every error as one message on stderr with the exit status of the contract."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run a command and end the process with its exit status."""
        sys.excepthook = sys.__excepthook__  # from here on interrupts are explained below
        extra["standalone_mode"] = False
        status = Exit.AS_EXPECTED
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # an arrow on a terminal without arrows is no reason to fail
        try:
            status = Exit(super().main(args, prog_name or "fencepost", **extra) or 0)
            _flush()
        except BrokenPipeError:
            close_stdout()  # whoever read us had enough before there was an answer
            status = Exit.UNDETERMINED
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (the last resort: no traceback for users)
            status = _end(error)
            if isinstance(error, OSError):
                close_stdout()
        sys.exit(status)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of this name; the error for an unknown one names the nearest."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            raise click.UsageError(f"There is no command {args[0]!r}.{nearest(args[0], known)}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeated(ctx, command, rest)
        return name, command, rest


def _refuse_repeated(ctx: click.Context, command: click.Command, args: list[str]) -> None:
    """Raise click's UsageError if an option that has one value was given two."""
    try:
        _, _, order = command.make_parser(click.Context(command, parent=ctx)).parse_args(list(args))
    except click.UsageError:
        return  # the command itself tells what is wrong
    for option in {item for item in order if isinstance(item, click.Option)}:
        single = not (option.multiple or option.is_flag or option.count)
        if single and order.count(option) > 1:
            raise click.UsageError(
                f"{option.opts[0]} was given {order.count(option)} times, and it has one value: write it once.", ctx
            )


@click.group("fencepost", cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("fencepost"), prog_name="fencepost", message="%(prog)s %(version)s")
@click.pass_context
def run(ctx: click.Context) -> None:
    """Check Kafka's replication protocol: every reachable state, every step, and what the KIPs promise of them.

    Start with `fencepost check`, which runs a selection that shows every protocol.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _command in (
    check,
    simulate,
    sweep,
    prove,
    ablate,
    faults,
    diff,
    vacuity,
    list_protocols,
    guarantees,
    replay,
    shrink,
    show,
    graph,
):
    run.add_command(_command)


def _end(error: BaseException) -> Exit:
    """Tell the user what went wrong and return the exit status."""
    status, message = explain(error)
    with suppress(OSError):
        if debugging() and not isinstance(error, click.ClickException):
            traceback.print_exception(error, file=sys.stderr)
        sys.stderr.write(f"fencepost: {message}\n")
    return status


def _flush() -> None:
    """Print what waits; a reader that is gone changes nothing about what was found."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()
