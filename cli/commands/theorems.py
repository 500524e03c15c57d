"""`fencepost prove` without a protocol: the proofs of the catalogue, each beside its broken twin, which must fail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.api.data import FORMAT
from fencepost.api.proving import bounded_of
from fencepost.api.quantities import counted, parse_duration, show_seconds
from fencepost.cli.status import Exit, worst_exit
from fencepost.cli.views.console import print_json, print_lines, print_rows, results, styled, verdict_text
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.theorems import THEOREMS, Theorem
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.cli.commands.prove import Asked
    from fencepost.explorers.symbolic.proof import Proof, Settings


def prove_catalogue(asked: Asked) -> Exit:
    """Make every proof of the catalogue, and see that every twin fails; print what came of it."""
    look_at(asked)
    from fencepost.explorers.symbolic.interrupts import Stopped

    ends, rows, why = [], [], ""
    with Display(quiet=asked.quiet) as display:
        for item in THEOREMS:
            try:
                row = prove_theorem(item, asked, display)
            except Stopped as signal:
                why = f"{signal} while {item.name} was proved"
                break
            rows.append(row)
            ends.append(exit_of_row(row))
            if not asked.json:
                print_row(row)
    if asked.json:
        as_expected = not why and worst_exit(ends) is Exit.AS_EXPECTED
        print_json({"format": FORMAT, "as_expected": as_expected, "why_stopped": why, "proofs": rows})
    else:
        print_summary(rows)
        if why:
            left = f"{len(THEOREMS) - len(rows)} of {counted(len(THEOREMS), 'proof')} not made"
            print_lines(results(), styled(f"Partial: {why}. {left}.", "yellow"))
    if why:
        return Exit.UNDETERMINED
    return worst_exit(ends)


def look_at(asked: Asked) -> None:
    """Raise UsageError for options that only the proof of one protocol has."""
    own = {
        "--property": asked.properties,
        "--set": asked.settings,
        "--version": asked.version,
        "--with": asked.with_,
        "--without": asked.without,
        "--unbounded": asked.unbounded,
        "--int64": asked.int64,
        "--havoc-loops": asked.havoc_loops,
        "--k": asked.k > 1,
        "--depth": asked.depth is not None,
        "--every-state": asked.every_state,
        "--strengthen": asked.strengthen,
        "--expect": asked.expect,
        "--trace": asked.trace,
    }
    for option, given in own.items():
        if given:
            raise UsageError(
                f"{option} does not apply to the catalogue, whose proofs have settings of their own: name a protocol, such as "
                f"`fencepost prove kip320 {option} ...`."
            )


def prove_theorem(item: Theorem, asked: Asked, display: Display) -> dict[str, Any]:
    """Make one proof and try its twin; return what came of both, as JSON."""
    from fencepost.explorers.symbolic.cache import digest

    machine = item.found.machine
    settings = settings_of(item, parse_duration(asked.timeout, "--timeout"), asked.workers)
    constants = machine.set_constants(item.constants)
    proof = _prove(item, machine, constants, settings, display, cache=asked.cache)
    other = item.twin.machine or machine
    values = other.set_constants({**item.constants, **item.twin.constants})
    twin = _prove(item, other, values, replace(settings, explain=False), display, cache=asked.cache)
    return {
        "name": item.name,
        "says": item.says,
        "protocol": item.protocol,
        "goals": list(item.goals),
        "lemmas": list(item.lemmas),
        "unbounded": unbounded_words(item),
        "bounded": bounded_of(constants, settings),
        "method": proof.method,
        "verdict": str(proof.verdict),
        "why": "; ".join(f"{found.name}: {found.why}" for found in proof.findings if found.why),
        "steps": proof.moves,
        "branches": proof.branches,
        "questions": proof.queries,
        "solver_seconds": round(proof.solver_seconds, 2),
        "seconds": round(proof.seconds, 2),
        "cached": proof.cached,
        "cuts": {name: list(whats) for name, whats in proof.cuts.items()},
        "havoc_loops": list(proof.forgotten),
        "twin": {
            "rule": item.twin.rule,
            "expected": item.twin.action,
            "verdict": str(twin.verdict),
            "fails_as_expected": twin_fails(item, twin),
            "broken_by": sorted({answer.action for answer in twin.broken}),
            "fails": [found.name for found in twin.findings if found.verdict is not Verdict.PROVED],
            "solver_seconds": round(twin.solver_seconds, 2),
            "seconds": round(twin.seconds, 2),
        },
        "digest": digest(machine, constants, item.properties, settings, carrier=""),
    }


def settings_of(item: Theorem, timeout: float, workers: int | None) -> Settings:
    """Return how a theorem is proved."""
    from fencepost.explorers.native.crew import processors
    from fencepost.explorers.symbolic.proof import Settings

    return Settings(
        dict(item.unbounded),
        everywhere=item.everywhere,
        timeout=timeout,
        workers=workers or processors(),
        havoc_loops=item.havoc_loops,
    )


def _prove(item: Theorem, machine: Any, constants: Any, settings: Settings, display: Display, *, cache: bool) -> Proof:
    from fencepost.explorers.symbolic.cache import cached
    from fencepost.explorers.symbolic.interrupts import Stopped
    from fencepost.explorers.symbolic.proof import prove

    with display.busy(f"proving {item.name}") if display.live else _nothing():

        def tell(done: int, of: int) -> None:
            display.spin(f"proving {item.name}: {done} of {of} steps")

        made = (cached if cache else prove)(machine, constants, item.properties, settings, tell)
    if made.why_stopped:
        raise Stopped(made.why_stopped)
    return made


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def twin_fails(item: Theorem, twin: Proof) -> bool:
    """Say whether the twin fails as it must, for a reason that z3 has shown: not because it gave up."""
    named = item.twin.action
    is_step = any(answer.action == named for answer in twin.broken)
    is_property = any(found.name == named and found.verdict is not Verdict.PROVED for found in twin.findings)
    return not twin.gave_up and (is_step or is_property)


def unbounded_words(item: Theorem) -> str:
    """Return what has any value in a theorem, in words."""
    words = [name if most is None else f"{name} (64 bits)" for name, most in item.unbounded.items()]
    return ", ".join([*([] if item.everywhere else ["steps"]), *words])


def exit_of_row(row: dict[str, Any]) -> Exit:
    """Return the status of one proof with its twin."""
    if row["verdict"] == Verdict.PROVED and row["twin"]["fails_as_expected"]:
        return Exit.AS_EXPECTED
    return Exit.UNDETERMINED if row["verdict"] == Verdict.UNDETERMINED else Exit.FAILED


def print_row(row: dict[str, Any]) -> None:
    """Print what came of one proof."""
    console, twin = results(), row["twin"]
    from rich.text import Text

    kept = ", kept from before" if row["cached"] else ""
    console.print(
        Text.assemble(
            (row["name"], "bold"), "  ", verdict_text(Verdict(row["verdict"])), f"  {show_seconds(row['seconds'])}{kept}"
        )
    )
    print_lines(console, styled(row["says"], "dim"), indent=2)
    if row["why"]:
        print_lines(console, styled(row["why"], "yellow"), indent=2)
    broken = ", ".join(twin["broken_by"]) or ", ".join(twin["fails"])
    fails = f"fails, as it must: {broken}" if twin["fails_as_expected"] else "does not fail as it must"
    print_rows(
        console,
        [
            (styled("unbounded", "dim"), row["unbounded"]),
            (styled("bounded", "dim"), row["bounded"]),
            *(
                [(styled("loops", "dim"), f"anything after those of {', '.join(row['havoc_loops'])}")]
                if row["havoc_loops"]
                else []
            ),
            (styled("with", "dim"), ", ".join(row["lemmas"]) or "no lemma"),
            (
                styled("twin", "dim"),
                Text(f"without “{twin['rule']}” it {fails}", "" if twin["fails_as_expected"] else "bold red"),
            ),
        ],
        indent=2,
    )


def print_summary(rows: list[dict[str, Any]]) -> None:
    """Print how many proofs there are, and what they took."""
    good = sum(exit_of_row(row) is Exit.AS_EXPECTED for row in rows)
    seconds = sum(row["seconds"] + row["twin"]["seconds"] for row in rows)
    results().print(
        styled(
            f"{good} of {len(rows)} proved, with twins that fail, in {show_seconds(seconds)}",
            "bold green" if good == len(rows) else "bold red",
        )
    )
