"""The options of `check`, read once and found consistent before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.targets import ask, find_subject
from fencepost.api.files import make_sure_folder
from fencepost.cli.builds.write import Builds
from fencepost.cli.commands.constants import parse_constants
from fencepost.cli.commands.options import Target, cluster_of, command_line
from fencepost.invariants.catalogue import Profile
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.api.asking.targets import Question
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Verdict


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
    workers: int | None = None
    compact: bool = False
    memory: int | None = None
    budget: float | None = None
    grow: float | None = None
    max_depth: int | None = None
    max_states: int | None = None
    checked: bool = False
    stop_on_violation: bool = False
    deadlock: bool = False
    normalize: bool = True
    profile: str | None = None
    pin: bool = False
    master: str | None = None
    conf: tuple[str, ...] = ()
    partitions: int | None = None
    handover: int | None = None
    checkpoint: str | None = None
    resume: bool = False
    expect: Verdict | None = None
    trace: str | None = None
    all_traces: bool = False
    coverage: bool = False
    verbose: bool = False
    dump: str | None = None
    junit: str | None = None
    sarif: str | None = None
    github: bool = False
    json: bool = False
    quiet: bool = False
    strict: bool = False

    @property
    def of_catalogue(self) -> bool:
        """Whether runs of the catalogue are asked for, with their own constants, and not single checks."""
        return self.profile is not None or not self.protocols

    def questions(self) -> list[Question]:
        """Return what is asked of each protocol that was named."""
        version = self.version or ""
        found = []
        for name in self.protocols:
            subject = find_subject(name)
            values = parse_constants(subject.protocol.machine, self.settings, self.with_, self.without)
            found.append(ask(subject, constants=values, version=version, only=self.properties))
        if len(found) > 1:
            self._refuse("several protocols", {"--trace": self.trace, "--checkpoint": self.checkpoint})
        return found

    def limits(self) -> dict[str, Any]:
        """Return how to explore, as arguments of a check; raise UsageError for what cannot be meant."""
        self._look_at_plain()
        cluster = self._look_at_spark()
        self._look_at_pin()
        if self.resume and not self.checkpoint:
            raise UsageError(
                "--resume was given without a checkpoint to continue from: write --checkpoint DIR --resume."
            )
        if self.checkpoint and "://" not in self.checkpoint:
            make_sure_folder(Path(self.checkpoint))
        names = (
            "compact",
            "normalize",
            "stop_on_violation",
            "deadlock",
            "max_depth",
            "max_states",
            "checkpoint",
            "resume",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "workers": self.workers or 0,
            "budget": self.budget,
            "memory": self.memory,
            **({} if self.of_catalogue else {"engine": self.engine, "cluster": cluster, "grow": self.grow}),
        }

    def builds(self) -> Builds | None:
        """Return what is left behind for a build, if anything is."""
        if not (self.junit or self.sarif or self.github):
            return None
        return Builds(_path(self.junit), _path(self.sarif), github=self.github, json=self.json)

    def _look_at_plain(self) -> None:
        given = {
            "--compact": self.compact,
            "--checkpoint": bool(self.checkpoint),
            "--workers": (self.workers or 0) > 1,
            "a run of the catalogue": self.of_catalogue,
        }
        for name, is_given in given.items():
            if self.engine == "plain" and is_given:
                raise UsageError(f"the plain engine does not know {name}: leave it out, or write --engine native.")

    def _look_at_pin(self) -> None:
        if self.pin and not self.of_catalogue:
            raise UsageError(
                "--pin was given for a check of its own, and only runs of the catalogue have figures: add --profile ci."
            )
        if self.pin and not self.normalize:
            raise UsageError(
                "--pin was given with --no-normalize, with which there are other states: leave one of them out."
            )

    def _look_at_spark(self) -> Cluster | None:
        """Return where Spark runs; raise UsageError for options that its engine does not have, and for its own with another engine."""
        own = {
            "--master": self.master,
            "--conf": self.conf,
            "--partitions": self.partitions,
            "--handover": self.handover,
        }
        if self.engine != "spark":
            for name, value in own.items():
                if value:
                    raise UsageError(
                        f"{name} is about Spark, and the engine is {self.engine}: add --engine spark, or leave it out."
                    )
            return None
        others: dict[str, tuple[Any, str]] = {
            "--compact": (self.compact, "leave it out"),
            "--workers": (self.workers, "write --master 'local[N]' for N processors"),
            "--memory": (self.memory, "write --conf spark.executor.memory=SIZE"),
            "a run of the catalogue": (self.of_catalogue, "name one protocol"),
        }
        for name, (given, instead) in others.items():
            if given:
                raise UsageError(f"the spark engine does not know {name}: {instead}.")
        cluster = cluster_of(self.master, self.conf, self.partitions, self.handover)
        if not cluster.is_local and not self.checkpoint:
            raise UsageError(
                f"with --master {self.master} the executors keep what they find in a folder that all of them see: "
                "write --checkpoint with such a folder, or a URL such as hdfs://host/folder."
            )
        return cluster

    def command_for(self, question: Question, prop: str) -> str:
        """Return the command that asks the same of one property alone."""
        target = Target(question.file or question.name, self.settings, self.version, self.with_, self.without)
        words = ["check", *target.words, *(["--engine", self.engine] if self.engine != "native" else [])]
        words += [
            option for option, given in (("--compact", self.compact), ("--no-normalize", not self.normalize)) if given
        ]
        return command_line(*words, "--property", prop)

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
            "--verbose": self.verbose,
            "--dump": self.dump,
            "--deadlock": self.deadlock,
            "--grow": self.grow,
            "--strict": self.strict,
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


def _path(name: str | None) -> Path | None:
    return Path(name) if name else None
