"""Options that several commands share, and kinds of values: declared once, and read in one place."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.asking.quantities import parse_duration, parse_size
from fencepost.api.asking.targets import Question, ask, find_subject
from fencepost.api.files import make_sure_writable
from fencepost.cli.commands.constants import parse_constants
from fencepost.explorers.verdict import Verdict
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fencepost.explorers.spark.session import Cluster


class Time(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """A length of time, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002 (as click calls it)
        """Return the seconds that a text means; nothing for an empty one."""
        return parse_duration(value, _named(param)) if value else None


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """An amount of memory, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002 (as click calls it)
        """Return the bytes that a text means; nothing for an empty one."""
        return parse_size(value, _named(param)) if value else None


class Expected(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """A verdict that is expected."""

    name = "verdict"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002 (as click calls it)
        """Return the verdict of this name."""
        known = [str(item) for item in Verdict]
        if value not in known:
            raise UsageError(
                f"--expect was given {value!r}, which is not a verdict.{nearest(value, known)} Verdicts are: {', '.join(known)}."
            )
        return Verdict(value)


OUTPUTS = "fencepost.outputs"
"""Where click keeps which files the options of a command name as outputs."""


class Writable(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    """A file that is written."""

    name = "file"

    def __init__(self, *, programs: bool = False) -> None:
        self.programs = programs
        """Whether a Python file may be replaced."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name; raise UsageError if nothing could be written there, or if something would be lost."""
        option, target = _named(param), Path(value).resolve()
        if not self.programs:
            refuse_program(option, value)
        make_sure_writable(Path(value))
        outputs = ctx.meta.setdefault(OUTPUTS, {}) if ctx is not None else {}
        other = outputs.setdefault(target, option)
        if other != option and (target.is_file() or not target.exists()):
            raise UsageError(f"{other} and {option} name the same file, {value}. Name another one for one of them.")
        return value


def refuse_program(option: str, value: str) -> None:
    """Raise UsageError if an option names a Python file that is there already, under whatever name."""
    target = Path(value).resolve()
    if target.suffix == ".py" and target.exists():
        raise UsageError(f"{option} names {value}, a Python file that is there already. Name another file.")


def _named(param: click.Parameter | None) -> str:
    return param.opts[0] if param is not None else "the option"


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
    click.option(
        "--conf", multiple=True, metavar="NAME=VALUE", help="A setting of Spark, such as spark.executor.memory=4g."
    ),
)
output_options = _together(
    click.option("--json", is_flag=True, help="Print JSON."),
    click.option("--quiet", is_flag=True, help="Print results only, without notes, legends and progress."),
)


def workers_option(what: str = "Threads") -> Callable[[Any], Any]:
    """Return the option for how much works at a time."""
    return click.option(
        "--workers", type=click.IntRange(1, 1024), metavar="N", help=f"{what}; all processors if not given."
    )


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
        subject = find_subject(self.protocol)
        values = parse_constants(subject.protocol.machine, self.settings, self.with_, self.without)
        return ask(subject, constants=values, version=self.version or "", only=properties, walks=walks)

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


def cluster_of(
    master: str | None, conf: Sequence[str], partitions: int | None = None, handover: int | None = None
) -> Cluster:
    """Return where Spark runs."""
    from fencepost.explorers.spark.session import HANDOVER, Cluster

    pairs = []
    for text in conf:
        name, mark, value = text.partition("=")
        if not mark or not name.startswith("spark."):
            raise UsageError(f"--conf was given {text!r}: write a setting of Spark, such as spark.executor.memory=4g.")
        pairs.append((name, value))
    return Cluster(master or "", tuple(pairs), partitions or 0, handover or HANDOVER)
