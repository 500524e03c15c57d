"""`fencepost prove` without a protocol: the proofs of the catalogue, each beside its broken twin, which must fail."""

from __future__ import annotations

from typing import Any

from fencepost.api.answers.results import FORMAT
from fencepost.api.asking.quantities import counted, parse_duration, show_seconds
from fencepost.api.calls.theorems import prove_theorem
from fencepost.cli.status import Exit, worst_exit
from fencepost.cli.views.console import print_json, print_lines, print_rows, results, styled, verdict_text
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Verdict, extended
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import UsageError


def prove_catalogue(given: dict[str, Any]) -> Exit:
    """Make every proof of the catalogue, and see that every twin fails; print what came of it."""
    look_at(given)
    timeout = parse_duration(given["timeout"], "--timeout")
    from fencepost.explorers.running.interrupts import Stopped

    ends, rows, why = [], [], ""
    with Display(quiet=given["quiet"]) as display:
        for item in THEOREMS:
            try:
                row = prove_theorem(item, display, timeout=timeout, workers=given["workers"], cache=given["cache"])
            except Stopped as signal:
                why = extended(signal.why, f" while {item.name} was proved")
                break
            rows.append(row)
            ends.append(exit_of_row(row))
            if not given["json"]:
                print_row(row)
    if given["json"]:
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


def look_at(given: dict[str, Any]) -> None:
    """Raise UsageError for options that only the proof of one protocol has."""
    own = {
        "--property": given["properties"],
        "--set": given["settings"],
        "--version": given["version"],
        "--with": given["with_"],
        "--without": given["without"],
        "--unbounded": given["unbounded"],
        "--int64": given["int64"],
        "--havoc-loops": given["havoc_loops"],
        "--k": given["k"] > 1,
        "--depth": given["depth"] is not None,
        "--every-state": given["every_state"],
        "--strengthen": given["strengthen"],
        "--expect": given["expect"],
        "--trace": given["trace"],
    }
    for option, value in own.items():
        if value:
            raise UsageError(
                f"{option} does not apply to the catalogue, whose proofs have settings of their own: name a protocol, such as "
                f"`fencepost prove kip320 {option} ...`."
            )


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
            (row["name"], "bold"),
            "  ",
            verdict_text(Verdict(row["verdict"])),
            f"  {show_seconds(row['seconds'])}{kept}",
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
