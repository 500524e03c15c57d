"""The command `fencepost`: its subcommands, exit statuses and output streams. A closed stderr does not end it."""

import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from filecmp import cmpfiles
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import click
from fencepost.cli.status import Exit
from fencepost.explorers.running.interrupts import Signals

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command as Ctrl-C does: results so far are kept, and no process is left running."""
LISTED = {
    "Check": {"check": ("check:check", "Check every property of protocols by exhaustive search."),
        "catalogue": ("catalogue:catalogue", "Run the catalogue and compare its results with the expected ones."),
        "simulate": ("simulate:simulate", "Check a protocol by random walks."),
        "prove": ("prove:prove", "Prove properties for all epochs and any number of steps, with z3.")},
    "Begin": {"new": ("new:new", "Write a small example model with its test, as a starting point for your own.")},
    "Understand": {"list": ("listing:list_protocols", "Show protocols, constants, actions and properties."),
        "explore": ("explore:explore", "Explore a protocol or a trace step by step in the browser."),
        "show": ("replay:show", "Show a counterexample."),
        "replay": ("replay:replay", "Replay counterexamples under the plain semantics."),
        "shrink": ("replay:shrink", "Find the shortest trace that shows the same violation."),
        "compare": ("compare:compare", "Show the behaviour that only one of two models has."),
        "graph": ("graph:graph", "Write the state graph of a small machine.")},
    "Evidence": {"ablate": ("ablate:ablate", "Remove one guard at a time and report violations."),
        "faults": ("faults:faults", "Find the fewest faults that violate a property."),
        "vacuity": ("vacuity:vacuity", "List properties never violated, actions never taken and guards never needed.")},
    "Kafka": {"advise": ("advise:advise", "Explain how a topic's settings affect its records."),
        "conform": ("conform:conform", "Execute the model's histories on Kafka's own classes."),
        "fuzz": ("fuzz:fuzz", "Run random histories on Kafka's own classes and report lost records."),
        "reproduce": ("reproduce:reproduce", "Reproduce a finding on a Kafka cluster on this machine."),
        "audit": ("audit:audit", "Check a cluster's metadata log against the guarantees.")},
    "Spark": {"sweep": ("sweep:sweep", "Take random walks on Spark for a grid of constants.")},
    "Documentation": {"guarantees": ("guarantees:guarantees", "Show every guarantee with its verdict."),
        "site": ("site:site", "Build a static site of the documentation and results."),
        "mcp": ("mcp:mcp", "Serve tools for agents over the Model Context Protocol.")},
}  # fmt: skip
"""Commands by group, with their modules and one-line descriptions. A command is imported when it is first used."""
_PLACES = {name: place for group in LISTED.values() for name, (place, _) in group.items()}


class _GoneError(Exception):
    """Error raised if the reader has closed the output; otherwise, click would exit with the status of a violation."""


@contextmanager
def _while_read() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _GoneError from error


class Commands(click.Group):
    chosen: click.Command | None = None
    """The running command, kept because click's context no longer exists when an error is explained."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        settle_streams()
        extra["standalone_mode"] = False
        status = Exit.AS_EXPECTED
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a character that the terminal lacks must not cause an error
        try:
            with Signals(lambda _: False, ENDING):
                status = Exit(super().main(args, prog_name or "fencepost", **extra) or 0)
            _flush()
        except _GoneError:
            _close()  # the output was closed before there was an answer
            status = Exit.UNDETERMINED
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (the last resort: no traceback for users)
            status = _end(error, self)
            if isinstance(error, OSError):
                _close()
        sys.exit(status)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        with _while_read():
            return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _while_read():
            if not {"--quiet", "-q"} & set(ctx.args) and (note := note_on_clone(Path.cwd())):
                click.echo(f"fencepost: {note}", err=True)
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _PLACES:
            return None
        module, _, name = _PLACES[cmd_name].partition(":")
        found: click.Command = getattr(import_module(f"fencepost.cli.commands.{module}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in LISTED.items():
            with formatter.section(group):
                width = max(map(len, _PLACES))
                formatter.write_dl([(f"{name:{width}}", line) for name, (_, line) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args and not args[0].startswith("-") and args[0] not in _PLACES:
            from fencepost.model.language.errors import nearest

            raise click.UsageError(f"There is no command {args[0]!r}.{nearest(args[0], list(_PLACES))}", ctx)
        name, found, rest = super().resolve_command(ctx, args)
        self.chosen = found
        if found is not None:
            _refuse_doubled(ctx, found, rest)
        return name, found, rest


@click.group(
    "fencepost", cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(version("fencepost"), prog_name="fencepost", message="%(prog)s %(version)s")
@click.pass_context
def run(ctx: click.Context) -> None:
    """Check Kafka's replication protocol: every reachable state, every step, and the promises of the KIPs. Start with
    `fencepost check`, which runs selected checks of every protocol.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def note_on_clone(folder: Path) -> str:
    spec = find_spec("fencepost.model")
    if spec is None or spec.origin is None:
        return ""
    runs = Path(spec.origin).resolve().parent
    for root in (folder, *folder.parents):
        here = root / "model"
        if not (here / "language" / "machine.py").is_file() or not (root / "cli" / "root").is_dir():
            continue
        if here.resolve() == runs:
            return ""
        with suppress(OSError):
            names = {str(file.relative_to(top)) for top in (here, runs) for file in top.rglob("*.py")}
            _, differ, missing = cmpfiles(here, runs, names, shallow=False)
            if differ or missing:
                return (
                    f"the models in {here} are not used: {min(differ + missing)} differs from the "
                    f"installed file in {runs}. Run `pip install -e {root}` to use the edited models."
                )
        return ""
    return ""


def _refuse_doubled(ctx: click.Context, command: click.Command, args: list[str]) -> None:
    try:
        given = command.make_parser(click.Context(command, parent=ctx)).parse_args(list(args))[2]
    except click.UsageError:
        return
    for option in {item for item in given if isinstance(item, click.Option)}:
        times = given.count(option)
        if times > 1 and not (option.multiple or option.is_flag or option.count):
            raise click.UsageError(
                f"{option.opts[0]} was given {times} times, but it takes one value: write it once.", ctx
            )


def _end(error: BaseException, group: Commands) -> Exit:
    from fencepost.cli.failures import debugging, explain, visible
    from fencepost.cli.wording import reword

    status, message = explain(error)
    with suppress(OSError):
        if debugging() and not isinstance(error, click.ClickException):
            traceback.print_exception(error, file=sys.stderr)
        sys.stderr.write(f"fencepost: {visible(reword(message, group.chosen, group))}\n")
    return status


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _close()


def _close() -> None:
    from fencepost.cli.views.console import close_stdout

    close_stdout()


class _Notes(io.TextIOWrapper):
    """A stream that ignores errors. It is unbuffered, because an interrupted flush would write everything twice."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)


def settle_streams() -> None:
    """Reopen closed standard streams, so that no file gets their descriptors, and ignore errors on stderr."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (it stays open)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        unbuffered: Any = io.FileIO(2, "w", closefd=False)
        sys.stderr = _Notes(unbuffered, encoding, "backslashreplace", write_through=True)
