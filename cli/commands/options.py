"""Options that several commands share, the types of their values, and the conversion of constants from text."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import click
from fencepost.api.answers.counterexample import Counterexample
from fencepost.api.asking.arguments import MOST
from fencepost.api.asking.constants import add_value, parse_setting
from fencepost.api.asking.quantities import parse_duration, parse_size
from fencepost.api.asking.targets import Question, ask, find_subject
from fencepost.api.files import make_sure_folder, make_sure_writable
from fencepost.explorers.spark.session import Cluster
from fencepost.explorers.verdict import EVERY, Verdict
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.machine import Machine

ON, OFF = "--with", "--without"
OPPOSITE = {"true": "false", "false": "true", "on": "off", "off": "on"}


def parse_constants(
    machine: Machine, settings: Iterable[str], switched_on: Iterable[str] = (), switched_off: Iterable[str] = ()
) -> dict[str, int]:
    given: dict[str, tuple[str, int]] = {}
    for text in settings:
        name, value = parse_setting(machine, "--set", text)
        add_value(given, name, f"--set {text}", value)
    for option, texts in ((ON, switched_on), (OFF, switched_off)):
        for text in texts:
            add_value(given, _parse_switch(machine, option, text), f"{option} {text}", int(option == ON))
    return {name: value for name, (_, value) in given.items()}


def _parse_switch(machine: Machine, option: str, text: str) -> str:
    declared = machine.constants.declared()
    known = [name for name, constant in declared.items() if constant.kind is bool]
    name, mark, value = text.strip().replace("-", "_").partition("=")
    if mark and name in known:
        word = value.lower() if option == ON else OPPOSITE.get(value.lower(), "")
        instead = {"true": ON, "on": ON, "false": OFF, "off": OFF}.get(word, option)
        raise UsageError(f"{option} {text}: a switch takes no value, so write {instead} {name}.")
    if name in declared and name not in known:
        raise UsageError(
            f"{option} {text}: constant {name!r} is not a switch but a number or a choice, so "
            f"write --set {name}={value or 'VALUE'}."
        )
    if name not in known:
        wrong = f"{option} {text}: protocol {machine.name!r} has no switch {name!r}"
        raise UsageError(f"{wrong}.{nearest(name, known, 'The switches are:')}")
    return name


NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e\d\d?)?)([kmg]?)", re.IGNORECASE)
THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
SPARK_URL = re.compile(r"local(-cluster)?(\[.+\])?|yarn|(spark|k8s|local)://.+")
GROUPS = {
    "Model": (
        "--set --version --with --without --property --guard --also --kind --cost --grid --unbounded --int64 "
        "--havoc-loops"
    ),
    "Search": (
        "--engine --workers --compact --memory --budget --max-depth --max-states --max-pairs --stop-on-violation "
        "--normalize --symmetry --checkpoint --resume --spill --grow --cross-check --walks --depth --seed --weight "
        "--shrink --k --every-state --timeout --strengthen --reach --cache --liveness"
    ),
    "Spark": "--master --conf --partitions --handover",
    "Catalogue": "--profile --pin",
    "Output": (
        "--trace --all-traces --coverage --verbose --dump --html --output --deadlock --expect --strict --junit "
        "--sarif --github --json --quiet --help"
    ),
}
MANY = 12
"""If a command has at least this many options, `--help` shows them in groups of at least two."""


class Grouped(click.Command):
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {
            item.opts[-1]: row
            for item in self.get_params(ctx)
            if isinstance(item, click.Option) and (row := item.get_help_record(ctx))
        }
        groups = {title: rows.keys() & names.split() for title, names in GROUPS.items() if len(rows) > MANY}
        groups = {title: names for title, names in groups.items() if len(names) > 1}
        known = {name for names in groups.values() for name in names}
        for title, names in {"Options": rows.keys() - known, **groups}.items():
            found = [row for name, row in rows.items() if name in names]
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


command = partial(click.command, cls=Grouped)


class Count(click.IntRange):
    """A whole number, which may also be written as 20k, 1.5m or 1e6."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            found = NUMBER.fullmatch(value.replace("_", ""))
            number = Decimal(found[1]) * THOUSANDS[found[2].lower()] if found else Decimal("0.5")
            if number != int(number):
                raise UsageError(f"{_named(param)} {value!r}: expected a whole number, such as 20000, 20k or 1e6.")
            value = int(number)
        return super().convert(value, param, ctx)

    def get_metavar(self, *_: Any, **__: Any) -> str:
        return "N"


class Parsed(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    def __init__(self, name: str, read: Callable[[str, click.Parameter | None], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.read(value, param)


def _sample(text: str, param: click.Parameter | None) -> Any:
    if text == "all":
        return EVERY
    if NUMBER.fullmatch(text.replace("_", "")) is None:
        raise UsageError(f"{_named(param)} {text!r}: expected a number of states, or all.")
    return Count(0).convert(text, param, None)


def _verdict(text: str, _: click.Parameter | None) -> Verdict:
    known = [str(item) for item in Verdict]
    if text not in known:
        raise UsageError(f"--expect: there is no verdict {text!r}.{nearest(text, known, 'The verdicts are:')}")
    return Verdict(text)


TIME = Parsed("time", lambda text, param: parse_duration(text, _named(param)) if text else None)
SIZE = Parsed("size", lambda text, param: parse_size(text, _named(param)) if text else None)
SAMPLE, EXPECTED = Parsed("N|all", _sample), Parsed("verdict", _verdict)
"""Types of option values: a duration in seconds, a memory size in bytes, a number of states (or all), and a verdict."""


OUTPUTS = "fencepost.outputs"


class Writable(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click alone
    name = "file"

    def __init__(self, *, programs: bool = False) -> None:
        self.programs = programs
        """Whether an existing Python file may be overwritten."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        option, path = _named(param), Path(value)
        target = path.resolve()
        if not self.programs:
            refuse_program(option, path)
        make_sure_writable(path)
        outputs = ctx.meta.setdefault(OUTPUTS, {}) if ctx is not None else {}
        other = outputs.setdefault(target, option)
        if other != option and (target.is_file() or not target.exists()):
            raise UsageError(f"{other} and {option} name the same file, {value}. Choose another file for one of them.")
        return path


def refuse_program(option: str, value: Path) -> None:
    """Raise UsageError if an option's value is an existing Python file or a link to one."""
    target = value.resolve()
    if target.suffix == ".py" and target.exists():
        raise UsageError(f"{option} names {value}, a Python file that already exists. Choose another file.")


def _named(param: click.Parameter | None) -> str:
    return param.opts[0] if param is not None else "the option"


def together(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


constants_options = together(
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant."),
    click.option("--version", metavar="NAME", help="Use the constants of a named version, such as a Kafka release."),
    click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on."),
    click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off."),
)
properties_option = click.option(
    "--property", "properties", multiple=True, metavar="NAME", help="Check only this property."
)
normalize_option = click.option(
    "--normalize/--no-normalize", default=True, help="Merge states without an observable difference.  [default: on]"
)
compact_option = click.option(
    "--compact",
    is_flag=True,
    help="Store 64-bit fingerprints instead of states, and print the probability of missing a state.",
)
spark_options = together(
    click.option("--master", metavar="URL", help="Spark master: local[2], spark://host:port, ...  [default: local[*]]"),
    click.option(
        "--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting, such as spark.executor.memory=4g."
    ),
)
verbose_option = click.option("-v", "--verbose", count=True, help="Show everything.")
output_options = together(
    click.option("--json", is_flag=True, help="Print JSON."),
    click.option("--quiet", is_flag=True, help="Print only results: no notes, legends or progress."),
)


def workers_option(what: str = "Number of threads", most: int = MOST["workers"]) -> Callable[[Any], Any]:
    return click.option(
        "--workers",
        type=Count(1, most),
        help=f"{what}; by default, one per processor.",
        callback=lambda _, __, value: value or 0,
    )


def expect_option(verdicts: Iterable[Verdict] = Verdict) -> Callable[[Any], Any]:
    return click.option("--expect", type=EXPECTED, help=f"Succeed only with this verdict: {', '.join(verdicts)}.")


search_options = together(
    workers_option(),
    compact_option,
    click.option(
        "--memory",
        type=SIZE,
        help="Stop before the states need more memory than this, e.g. 8G.  [default: 80 % of the available memory]",
    ),
    click.option("--budget", type=TIME, help="Stop after this much search time, e.g. 10m."),
    click.option("--max-depth", type=Count(1), help="Stop after N levels."),
    click.option("--max-states", type=Count(1), help="Stop when there are more than N states."),
    click.option("--stop-on-violation", is_flag=True, help="Stop after the level of the first violation."),
    normalize_option,
    click.option(
        "--checkpoint",
        metavar="DIR",
        help="Save an unfinished search in this folder, so that --resume can continue it.",
    ),
    click.option("--resume", is_flag=True, help="Continue from the checkpoint."),
)
spill_option = click.option(
    "--spill", metavar="DIR", help="Keep predecessors and unfinished levels in this folder instead of in memory."
)
cross_check_option = click.option(
    "--cross-check",
    type=SAMPLE,
    help="Check N stored states by expanding them again with the plain semantics; N is a number or `all`.  [default: "
    "as many as fit into a tenth of the time]",
)
LIMITS = (
    *("workers", "compact", "memory", "budget", "max_depth", "max_states"),
    *("stop_on_violation", "normalize", "checkpoint", "resume"),
)
build_options = together(
    click.option("--junit", type=Writable(), help="Write JUnit XML to this file, with a test case for each property."),
    click.option(
        "--sarif",
        type=Writable(),
        help="Write each violation with its trace to this file as SARIF 2.1.0, for code scanning.",
    ),
    click.option("--github", is_flag=True, help="Annotate a GitHub workflow and write its step summary."),
)


def limits_of(given: Mapping[str, Any]) -> dict[str, Any]:
    if given["resume"] and not given["checkpoint"]:
        raise UsageError("--resume needs a checkpoint to continue from: write --checkpoint DIR --resume.")
    if given["checkpoint"] and "://" not in given["checkpoint"]:
        make_sure_folder(Path(given["checkpoint"]))
    return {name: given[name] for name in LIMITS}


def refuse_beyond(own: Collection[str | None], given: Mapping[str, Any], why: str) -> None:
    """Raise UsageError if the user gave the current command an option that is not in `own`."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name not in own and given[str(param.name)] not in (None, (), param.get_default(context)):
            command = f"{context.command_path} kip320 {param.opts[-1]} ..."
            raise UsageError(f"{param.opts[-1]} does not apply to {why}: name one protocol, such as `{command}`.")


@dataclass(frozen=True)
class Target:
    protocol: str
    settings: tuple[str, ...] = ()
    version: str | None = None
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @classmethod
    def from_options(cls, given: dict[str, Any]) -> "Target":
        return cls(**{name: given.pop(name) for name in ("protocol", "settings", "version", "with_", "without")})

    def question(self, properties: Sequence[str] = (), *, walks: bool = False) -> Question:
        """Return the question. With `walks`, unnamed properties of behaviours are omitted, because walks are finite."""
        subject = find_subject(self.protocol)
        values = parse_constants(subject.protocol.machine, self.settings, self.with_, self.without)
        return ask(subject, constants=values, version=self.version or "", only=properties, walks=walks)

    @property
    def words(self) -> list[str]:
        found = [self.protocol, *(["--version", self.version] if self.version else [])]
        for option, values in (("--set", self.settings), ("--with", self.with_), ("--without", self.without)):
            found += [word for value in values for word in (option, value)]
        return found

    @property
    def model(self) -> str:
        return f" --model {self.protocol}" if self.protocol.endswith(".py") else ""


def save(trace: Counterexample | None, file: Path, model: str) -> str:
    """Save a trace, if there is one, and return a note. `model` is the option that names the user's model."""
    if trace is None:
        return f"nothing is violated, so {file} was not written"
    trace.save(file)
    return f"the trace of {trace.prop or 'the deadlock'} is in {file}: `fencepost replay {file}{model}` replays it"


def command_line(*words: str) -> str:
    return shlex.join(["fencepost", *words])


def cluster_if_given(master: str | None, conf: Sequence[str]) -> Cluster | None:
    if master is None and conf:
        raise UsageError("--conf applies to Spark: add --master, such as --master 'local[4]'.")
    return None if master is None else cluster_of(master, conf)


def cluster_of(
    master: str | None, conf: Sequence[str], partitions: int | None = None, handover: int | None = None
) -> Cluster:
    from fencepost.explorers.spark.session import HANDOVER, Cluster

    if master and not SPARK_URL.fullmatch(master):
        raise UsageError(f"--master {master!r}: write local[N], spark://host:port, k8s://... or yarn.")
    pairs = []
    for text in conf:
        name, mark, value = text.partition("=")
        if not mark or not name.startswith("spark."):
            raise UsageError(f"--conf {text!r}: expected a Spark setting, such as spark.executor.memory=4g.")
        pairs.append((name, value))
    return Cluster(master or "", tuple(pairs), partitions or 0, handover or HANDOVER)
