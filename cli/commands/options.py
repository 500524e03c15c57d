"""Options that several commands share: declared once, and read in one place."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.files import make_sure_writable
from fencepost.api.quantities import parse_duration, parse_size
from fencepost.api.targets import Question, ask
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fencepost.explorers.spark.session import Cluster


class Command(click.Command):
    """A command that refuses an option that has one value and was given two."""

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser, which looks at what it has read."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            found = parse(args)
            for option in {item for item in found[2] if isinstance(item, click.Option)}:
                given = found[2].count(option)
                if given > 1 and not (option.multiple or option.is_flag or option.count):
                    message = f"{option.opts[0]} was given {given} times, and it has one value: write it once."
                    raise click.UsageError(message, ctx.parent or ctx)
            return found

        parser.parse_args = parse_once  # type: ignore[method-assign]
        return parser


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command."""
    return click.command(name, cls=Command)


def _together(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return one decorator for several options."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


constants_options = _together(
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant."),
    click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release."),
    click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on."),
    click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off."),
)
normalize_option = click.option(
    "--normalize/--no-normalize", default=True, help="Merge states that have no observable difference.  [default: on]"
)
spark_options = _together(
    click.option("--master", metavar="URL", help="Spark master: local[2], spark://host:port, ...  [default: local[*]]"),
    click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark, such as spark.executor.memory=4g."),
)
output_options = _together(
    click.option("--json", is_flag=True, help="Print JSON."),
    click.option("--quiet", is_flag=True, help="Print results only, without notes and progress."),
)


def workers_option(what: str = "Threads") -> Callable[[Any], Any]:
    """Return the option for how much works at a time."""
    return click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help=f"{what}; all processors if not given.")


@dataclass(frozen=True)
class Target:
    """The protocol that a command is about, and its constants, as they were typed."""

    protocol: str
    settings: tuple[str, ...] = ()
    version: str | None = None
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def taken(cls, given: dict[str, Any]) -> Target:
        """Take the target out of what was typed."""
        return cls(**{name: given.pop(name) for name in ("protocol", "settings", "version", "with_", "without")})

    def question(self, properties: Sequence[str] = (), *, walks: bool = False) -> Question:
        """Return what is asked; `walks` have an end, so whole behaviours are not asked about unless they are named."""
        return ask(
            self.protocol,
            version=self.version or "",
            settings=self.settings,
            on=self.with_,
            off=self.without,
            only=properties,
            walks=walks,
        )

    @property
    def words(self) -> list[str]:
        """The protocol and its constants as words of a command."""
        found = [self.protocol, *(["--version", self.version] if self.version else [])]
        for option, values in (("--set", self.settings), ("--with", self.with_), ("--without", self.without)):
            found += [word for value in values for word in (option, value)]
        return found

    @property
    def model(self) -> str:
        """What `replay` must be told of a protocol in a file, as words of a command."""
        return f" --model {self.protocol}" if self.protocol.endswith(".py") else ""


def command_line(*words: str) -> str:
    """Return a command as it is typed."""
    return shlex.join(["fencepost", *words])


def expected_verdict(name: str | None) -> Verdict | None:
    """Return the verdict that is expected, if one is."""
    known = [str(item) for item in Verdict]
    if name is not None and name not in known:
        raise UsageError(
            f"--expect was given {name!r}, which is not a verdict.{nearest(name, known)} Verdicts are: {', '.join(known)}."
        )
    return None if name is None else Verdict(name)


def writable(name: str | None) -> Path | None:
    """Return the file that was named, if one was; raise UsageError if nothing could be written there."""
    if name is None:
        return None
    make_sure_writable(Path(name))
    return Path(name)


def seconds(text: str | None, option: str = "--budget") -> float | None:
    """Return a length of time, if one was given."""
    return parse_duration(text, option) if text else None


def size(text: str | None, option: str = "--memory") -> int | None:
    """Return an amount of memory in bytes, if one was given."""
    return parse_size(text, option) if text else None


def cluster_of(master: str | None, conf: Sequence[str], partitions: int | None = None, handover: int | None = None) -> Cluster:
    """Return where Spark runs."""
    from fencepost.explorers.spark.session import HANDOVER, Cluster

    pairs = []
    for text in conf:
        name, mark, value = text.partition("=")
        if not mark or not name.startswith("spark."):
            raise UsageError(f"--conf was given {text!r}: write a setting of Spark, such as spark.executor.memory=4g.")
        pairs.append((name, value))
    return Cluster(master or "", tuple(pairs), partitions or 0, handover or HANDOVER)
