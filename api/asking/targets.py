"""The question that a call asks: a protocol (a name, a machine, or a user's file) with constants and properties. The
protocol is compiled or read from the cache, and the result of each compilation stage is available as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.arguments import refuse_taken
from fencepost.api.asking.constants import join_values, make_constants, read_values, require_own_record
from fencepost.api.asking.model_files import is_file, load_protocol, make_sure_file
from fencepost.api.asking.watching import Watch
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS, Protocol, protocol
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.machine import Machine, described

if TYPE_CHECKING:
    from fencepost.explorers.native.compile import Kernels, Source
    from fencepost.invariants.run import Run


@dataclass(frozen=True)
class Question:
    """The question of whether a protocol with given constants satisfies given properties."""

    protocol: Protocol
    constants: Constants
    properties: tuple[Property, ...]
    version: str = ""
    file: str = ""
    """The user's file that defines the protocol; empty if the protocol is built in."""

    @property
    def name(self) -> str:
        return self.protocol.name


@dataclass(frozen=True)
class Subject:
    """A protocol with everything that its name implies: the user's file, or the settings of a catalogue run."""

    protocol: Protocol
    file: str = ""
    version: str = ""
    values: Mapping[str, int] = field(default_factory=dict)
    """Constants of a run, which a caller cannot change."""
    only: tuple[str, ...] = ()


def find_subject(
    what: Machine | Protocol | Subject | str | Path, properties: Iterable[Property] | None = None
) -> Subject:
    """Return the subject of a question; raise UsageError if it does not exist. `what` is the name of a protocol or of a
    catalogue run, the path of a file that defines a protocol, or a machine with its `properties`.
    """
    if isinstance(what, Subject):
        return what
    run = run_called(what) if isinstance(what, str) else None
    if run is not None:
        values = {name: int(value) for name, value in run.constants.items()}
        return Subject(find_protocol(run.protocol), "", run.version, values, tuple(run.properties))
    file = str(what) if isinstance(what, str | Path) and is_file(str(what)) else ""
    return Subject(_protocol(what, properties), file)


def ask(
    what: Machine | Protocol | Question | Subject | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    more: Mapping[str, Any] | None = None,
    walks: bool = False,
) -> Question:
    """Return the question; raise UsageError if a name does not exist or arguments are mutually exclusive.

    If `what` is already a question, it is returned unchanged.

    `find_subject` explains `what` and `properties`. Constants are given by name in `constants` or `more`, as numbers,
    booleans or words. `only` limits the properties by name. If `walks` is set, properties of behaviours are omitted
    unless named, because walks are finite.
    """
    if isinstance(what, Question):
        return what
    subject = find_subject(what, properties)
    found, machine = subject.protocol, subject.protocol.machine
    version = version and machine.version(version).name
    refuse_taken(machine, constants)
    if isinstance(constants, Constants):
        require_own_record(machine, constants, (*(more or {}), *(("version",) if version else ())))
        values = constants
    else:
        given = read_values(machine, join_values(constants, more))
        for name, own in subject.values.items():
            if given.get(name, own) != own:
                raise UsageError(
                    f"constant {name!r} has two values, {own} in the run and {given[name]} in the arguments: name the "
                    "protocol instead of the run to choose the constants."
                )
        values = make_constants(machine, version or subject.version, {**subject.values, **given})
    chosen = ((only,) if isinstance(only, str) else tuple(only)) or subject.only
    return Question(found, values, chosen_of(found, chosen, walks=walks), version or subject.version, subject.file)


def run_called(name: str) -> Run | None:
    """Return the catalogue run with this name, or None. Unlike names of protocols, names of runs contain spaces."""
    if " " not in name or is_file(name):
        return None
    from fencepost.invariants.catalogue import runs

    every = {run.name: run for run in runs()}
    if name in every:
        return every[name]
    if name.partition(" ")[0] in PROTOCOLS:
        raise UsageError(
            f"there is no run {name!r}.{nearest(name, list(every))} `fencepost guarantees ID` shows the runs of an "
            "entry."
        )
    return None


def chosen_of(found: Protocol, only: tuple[str, ...], *, walks: bool = False) -> tuple[Property, ...]:
    """Return the named properties or, if none is named, all except those that must be named explicitly."""
    chosen = found.select(only) if only else found.properties
    return tuple(item for item in chosen if not item.kind.over_behaviours) if walks and not only else chosen


def _protocol(what: Machine | Protocol | str | Path, properties: Iterable[Property] | None) -> Protocol:
    if isinstance(what, Machine):
        if properties is None:
            raise UsageError(f"check({what.name!r}) has no properties to check: write check(MACHINE, PROPERTIES).")
        return Protocol(what, tuple(properties))
    if properties is not None:
        raise UsageError(
            "check() has properties but no machine: write check(MACHINE, PROPERTIES), or name them in only=."
        )
    if isinstance(what, Protocol):
        return what
    if isinstance(what, str | Path):
        return find_protocol(str(what) if str(what).endswith(".py") or not isinstance(what, Path) else f"./{what}")
    raise UsageError(f"expected a machine, the name of a protocol or the path of its file, not {described(what)}.")


def find_protocol(name: str) -> Protocol:
    """Return the protocol with this name, or the protocol that a file defines; raise UsageError if neither exists."""
    if "\n" in name:
        raise UsageError(
            f"expected the name or the file of a protocol, not {len(name.splitlines())} lines of text: write them to "
            "a file first."
        )
    if is_file(name):
        return load_protocol(Path(name))
    known = name.replace("_", "-") if name not in PROTOCOLS else name
    if known in PROTOCOLS:
        return PROTOCOLS[known]
    if Path(f"{name}.py").is_file():
        raise UsageError(f"there is no protocol {name!r}, but this folder has a file {name}.py: write {name}.py.")
    if Path(name).is_file():
        make_sure_file(Path(name))
    if name.startswith(("HYP-", "KIP-", "KAFKA-")):
        raise UsageError(f"{name!r} is not a protocol: `fencepost guarantees {name}` shows the runs to check.")
    return protocol(known)


def lookup_in(model: str | None) -> Callable[[str], Protocol]:
    """Return a function that finds a trace's protocol by name, looking in the user's file first."""
    own = find_protocol(model) if model else None

    def find(name: str) -> Protocol:
        if own is not None and own.name == name:
            return own
        try:
            return protocol(name)
        except UsageError as error:
            more = "For your own protocol, write `model='FILE.py'`."
            if own is not None:
                more = f"{model} defines {own.name!r}."
            raise UsageError(f"{error} {more}") from None

    return find


STAGES = {
    "ir": "the typed program, as documented in docs/developing/program.md",
    "llvm": "the LLVM IR before optimization",
    "asm": "the optimized code for this processor",
}


def source_of(question: Question, options: Options, *, masked: bool = False) -> Source:
    """Return the module to be compiled for a question. If `masked`, the module's guards can be turned off."""
    from fencepost.explorers.native.compile import generate

    found, asked = question.protocol, question.properties
    judged = asked if options.symmetry else found.compiled_with(asked)  # other properties may distinguish values
    flags = {"normalize": options.normalize, "masked": masked, "symmetry": options.symmetry}
    return generate(found.machine, question.constants, judged, **flags)


def kernels_of(question: Question, source: Source, watch: Watch) -> Kernels:
    """Return the compiled machine. Compiling takes seconds, so it is reported to `watch`."""
    from fencepost.explorers.native.compile import compile_watched

    return compile_watched(question.name, question.constants, source, watch)


def dump(question: Question, stage: str, *, normalize: bool = True) -> str:
    from fencepost.explorers.native.llvm.objects import assembly, native, translated
    from fencepost.explorers.program.ir.program import text
    from fencepost.explorers.program.ir.translate import translate

    if stage not in STAGES:
        listed = "; ".join(f"{name} ({meaning})" for name, meaning in STAGES.items())
        raise UsageError(f"there is no stage {stage!r}.{nearest(stage, list(STAGES))} The stages are: {listed}.")
    if stage == "ir":
        found = question.protocol
        return text(translate(found.machine, found.compiled_with(question.properties)))
    unit = source_of(question, Options(normalize=normalize)).unit
    return translated(unit, native())[0] if stage == "llvm" else assembly(unit)
