"""What `check` was asked to do: its options, read and found consistent before anything runs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api.engines import Question, choose_engine
from fencepost.api.files import make_sure_folder, make_sure_writable
from fencepost.api.quantities import DEFAULT_SHARE, default_memory, parse_duration, parse_size
from fencepost.api.targets import choose_constants, find_protocol
from fencepost.cli.builds.write import make_sure_builds_writable
from fencepost.explorers.verdict import Options, Result, Verdict
from fencepost.invariants.catalogue import Profile
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.explorers.spark.session import Cluster
    from fencepost.invariants.protocols import Protocol


@dataclass(frozen=True)
class Request:
    """The options of `check` as they were typed; None or empty where one was not given."""

    protocols: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    version: str | None = None
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    engine: str = "native"
    workers: int = 0
    compact: bool = False
    memory: str | None = None
    budget: str | None = None
    max_depth: int | None = None
    max_states: int | None = None
    checked: bool = False
    stop_on_violation: bool = False
    deadlock: bool = False
    normalize: bool = True
    profile: str | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    partitions: int | None = None
    handover: int | None = None
    checkpoint: str | None = None
    resume: bool = False
    expect: str | None = None
    trace: str | None = None
    all_traces: bool = False
    coverage: bool = False
    junit: str | None = None
    sarif: str | None = None
    github: bool = False
    json: bool = False
    quiet: bool = False

    @property
    def of_catalogue(self) -> bool:
        """Whether runs of the catalogue are asked for, with their own constants, and not single checks."""
        return self.profile is not None or not self.protocols

    def options(self) -> Options:
        """Return how to explore; raise UsageError for what cannot be meant."""
        choose_engine(self.engine)
        self._look_at_plain()
        self._look_at_spark()
        if self.resume and not self.checkpoint:
            raise UsageError("--resume was given without a checkpoint to go on from: write --checkpoint DIR --resume.")
        if self.checkpoint and "://" not in self.checkpoint:
            make_sure_folder(Path(self.checkpoint))
        make_sure_builds_writable(self)
        return Options(
            workers=self.workers,
            compact=self.compact,
            normalize=self.normalize,
            stop_on_violation=self.stop_on_violation,
            deadlock=self.deadlock,
            checked=self.checked,
            max_depth=self.max_depth,
            max_states=self.max_states,
            budget=parse_duration(self.budget, "--budget") if self.budget else None,
            memory=parse_size(self.memory, "--memory") if self.memory else default_memory(),
            checkpoint=self.checkpoint,
            resume=self.resume,
        )

    def _look_at_plain(self) -> None:
        given = {
            "--compact": self.compact,
            "--checkpoint": bool(self.checkpoint),
            "--workers": self.workers > 1,
            "a run of the catalogue": self.of_catalogue,
        }
        for name, is_given in given.items():
            if self.engine == "plain" and is_given:
                raise UsageError(f"the plain engine does not know {name}: leave it out, or write --engine native.")

    def _look_at_spark(self) -> None:
        """Raise UsageError for options that the spark engine does not have, and for its options with another engine."""
        own = {"--master": self.master, "--conf": self.conf, "--partitions": self.partitions, "--handover": self.handover}
        others = {
            "--compact": "",
            "--workers": "write --master 'local[N]' for N processors",
            "--memory": "write --conf spark.executor.memory=SIZE",
            "a run of the catalogue": "name one protocol",
        }
        given = {
            "--compact": self.compact,
            "--workers": self.workers,
            "--memory": self.memory,
            "a run of the catalogue": self.of_catalogue,
        }
        if self.engine != "spark":
            for name, value in own.items():
                if value:
                    raise UsageError(
                        f"{name} is about Spark, and the engine is {self.engine}: add --engine spark, or leave it out."
                    )
            return
        for name, value in given.items():
            if value:
                raise UsageError(f"the spark engine does not know {name}: {others[name] or 'leave it out'}.")
        if not self.cluster().is_local and not self.checkpoint:
            raise UsageError(
                f"with --master {self.master} the executors keep what they find in a folder that all of them see: "
                "write --checkpoint with such a folder, or a URL such as hdfs://host/folder."
            )

    def cluster(self) -> Cluster:
        """Return where Spark runs."""
        from fencepost.explorers.spark.session import HANDOVER, Cluster

        pairs = []
        for text in self.conf:
            name, mark, value = text.partition("=")
            if not mark or not name.startswith("spark."):
                raise UsageError(f"--conf was given {text!r}: write a setting of Spark, such as spark.executor.memory=4g.")
            pairs.append((name, value))
        return Cluster(self.master or "", tuple(pairs), self.partitions or 0, self.handover or HANDOVER)

    def expected(self) -> Verdict | None:
        """Return the verdict that is expected, if one is."""
        if self.expect is None:
            return None
        known = [str(item) for item in Verdict]
        if self.expect not in known:
            raise UsageError(
                f"--expect was given {self.expect!r}, which is no verdict.{nearest(self.expect, known)} Verdicts are: {', '.join(known)}."
            )
        return Verdict(self.expect)

    def trace_file(self) -> Path | None:
        """Return where the trace goes; raise UsageError if it could not be written there."""
        if self.trace is None:
            return None
        make_sure_writable(Path(self.trace))
        return Path(self.trace)

    def questions(self, *, walks: bool = False) -> list[tuple[Protocol, Question]]:
        """Return what is asked of each protocol that was named; `walks` have an end, so whole behaviours are not asked about."""
        found = []
        switches = (*((name, True) for name in self.with_), *((name, False) for name in self.without))
        for name in self.protocols:
            item = find_protocol(name)
            constants = choose_constants(item.machine, self.version, self.settings, switches)
            chosen = item.select(self.properties)
            if walks and not self.properties:
                chosen = tuple(prop for prop in chosen if not prop.kind.over_behaviours)
            file = name if name.endswith(".py") or "/" in name else ""
            found.append((item, Question(item.machine, constants, chosen, file)))
        if len(found) > 1:
            self._refuse("several protocols", {"--trace": self.trace, "--checkpoint": self.checkpoint})
        return found

    def command_for(self, protocol: str, prop: str) -> str:
        """Return the command that asks the same of one property alone."""
        words = ["fencepost", "check", protocol, *(["--version", self.version] if self.version else [])]
        for option, values in (("--set", self.settings), ("--with", self.with_), ("--without", self.without)):
            words += [word for value in values for word in (option, value)]
        words += ["--engine", self.engine] if self.engine != "native" else []
        words += [option for option, given in (("--compact", self.compact), ("--no-normalize", not self.normalize)) if given]
        return shlex.join([*words, "--property", prop])

    def look_at_catalogue(self) -> Profile:
        """Return the profile whose runs are asked for; raise UsageError for options that only single checks have."""
        own = {
            "--set": self.settings,
            "--version": self.version,
            "--with": self.with_,
            "--without": self.without,
            "--property": self.properties,
            "--expect": self.expect,
            "--trace": self.trace,
            "--all-traces": self.all_traces,
            "--coverage": self.coverage,
            "--deadlock": self.deadlock,
        }
        self._refuse("runs of the catalogue, which have their own constants and expectations", own)
        known = [str(item) for item in Profile]
        name = self.profile or Profile.QUICK
        if name not in known:
            raise UsageError(f"there is no profile {name!r}.{nearest(name, known)} Profiles are: {', '.join(known)}.")
        return Profile(name)

    def _refuse(self, what: str, options: Mapping[str, object]) -> None:
        for option, value in options.items():
            if value:
                raise UsageError(
                    f"{option} does not apply to {what}: name one protocol, such as `fencepost check kip320 {option} ...`."
                )

    def with_memory_explained(self, result: Result) -> Result:
        """Return the result; if a memory limit that nobody set ended the search, it says where the limit came from."""
        if self.memory is None and "memory limit" in result.why_stopped:
            why = f"{result.why_stopped} ({DEFAULT_SHARE:.0%} of what was available; --memory sets another limit)"
            return replace(result, why_stopped=why)
        return result
