"""`fencepost ablate`: find the guards that each guarantee depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import argument, option
from fencepost.api.answers.as_json import Json
from fencepost.api.answers.matrix import SUSPICIONS, meaning_for, not_run
from fencepost.api.asking.constants import parse_setting
from fencepost.api.asking.quantities import counted, in_values
from fencepost.api.asking.targets import Question
from fencepost.api.calls.ablate import SAFE, eventual_of
from fencepost.api.files import make_sure_folder, write_text
from fencepost.cli.commands import options
from fencepost.cli.failures import require_kept
from fencepost.cli.status import Exit
from fencepost.cli.views.console import called, joined, print_lines, print_rows, render_page, show, styled, unbroken
from fencepost.cli.views.screen import checked, print_answer, some
from fencepost.explorers.verdict import ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.calls.ablate import AblateResult
    from fencepost.explorers.spark.session import Cluster
    from rich.console import Console
    from rich.text import Text


@options.command()
@argument("protocol", metavar="PROTOCOL_OR_FILE")
@options.constants_options
@options.properties_option
@option("--guard", "guards", multiple=True, metavar="NAME", help="Remove only this guard, such as 'follower-fetch 1'.")
@option("--also", multiple=True, metavar="NAME=VALUE", help="Add a row with this value for this constant.")
@options.workers_option("Number of rows to search in parallel")
@option("--budget", type=options.TIME, help="Stop the search of each row after this much time, e.g. 30s.")
@option("--max-states", type=options.Count(1), help="Stop the search of each row after N states.")
@option("--memory", type=options.SIZE, help="Memory limit for all rows together, e.g. 8G.")
@options.normalize_option
@option("--checkpoint", metavar="DIR", help="Save every finished row in this folder.")
@option("--resume", is_flag=True, help="Read finished rows from the checkpoint.")
@option("--liveness", is_flag=True, help="Also find the guards that only leads-to or at-most properties need.")
@option("--html", type=options.Writable(), help="Write the matrix to this HTML file; its cells link to their traces.")
@option("--trace", metavar="DIR", help="Write the trace of each violation to this folder.")
@option("--master", metavar="URL", help="Search the rows on this Spark master: local[4], spark://host:port, ...")
@option("--conf", multiple=True, metavar="NAME=VALUE", help="A Spark setting, such as spark.executor.memory=4g.")
@options.verbose_option
@options.output_options
def ablate(**given: Any) -> Exit:
    """Search PROTOCOL with one guard removed or one switch flipped at a time, and report violations.

    A guard is needed if a property is violated without it; the shortest trace shows how. For any other guard, the
    command says why it is not needed: other guards imply it, it never blocks a step, it only bounds the search, or no
    property depends on it.

    Exit status: 0 if every row is decided, 1 if the unmodified protocol violates a property, 2 for bad input, 3 if a
    row is undetermined.
    """
    from fencepost.api.calls.ablate import ablate as ablated

    question = options.Target.from_options(given).question(given["properties"])
    cluster = _cluster(given["master"], given["conf"], given["workers"])
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    names = "guards workers budget max_states memory normalize checkpoint resume liveness"
    matrix = called(given, ablated, names, question, also=_also(question, given["also"]), cluster=cluster)
    data = matrix.to_dict()
    traces = _named_traces(data, Path(given["trace"])) if given["trace"] else {}
    reach = "" if given["verbose"] else checked(question, normalize=given["normalize"])
    show(given, replace(matrix, data=data), print_matrix, reach=reach, legend=not given["quiet"])
    if given["html"]:
        write_text(given["html"], page(data))
    for file, text in traces.items():
        write_text(file, text)
    require_kept(matrix.problems)
    return exit_of_matrix(data)


def _also(question: Question, texts: Sequence[str]) -> dict[str, list[int]]:
    more: dict[str, list[int]] = {}
    for text in texts:
        name, value = parse_setting(question.protocol.machine, "--also", text)
        more.setdefault(name, []).append(value)
    return more


def _cluster(master: str | None, conf: Sequence[str], workers: int) -> Cluster | None:
    found = options.cluster_if_given(master, conf)
    if found is not None and workers:
        raise UsageError(
            "--workers cannot be combined with --master: Spark searches as many rows at a time as it has processors."
        )
    if found is not None:
        from fencepost.explorers.spark.session import require_java

        require_java()
    return found


def _named_traces(data: Json, folder: Path) -> dict[Path, str]:
    found = {}
    for row in data["rows"]:
        for prop, cell in row["cells"].items():
            if "trace" in cell:
                file = folder / f"{row['row'].replace(' ', '-')}-{prop}.trace"
                cell["file"], found[file] = str(file), cell["trace"]
    return found


def exit_of_matrix(data: Json) -> Exit:
    if ended_by_signal(data["why_stopped"]):
        return Exit.UNDETERMINED
    eventual = eventual_of(data)
    if eventual["violated"] or any(item["verdict"] == "violated" for item in data["properties"]):
        return Exit.FAILED
    undetermined = set(eventual["asked"]) > set(eventual["holding"]) or any(
        row["purpose"] == "undetermined" for row in data["rows"]
    )
    return Exit.UNDETERMINED if undetermined or data["not_run"] else Exit.AS_EXPECTED


LONG = 120
"""Maximum number of characters in a condition."""
NUMBERS = "number of states in the shortest trace to a violation; ? if the search ended without a decision"
_STYLES = {
    "needed": "bold green",
    "undetermined": "bold yellow",
    "not-exercised": "bold yellow",
    "nothing-broke": "bold yellow",
}


def headline(data: Json) -> str:
    rows, whole = data["rows"], _whole(data)
    if any("violated" in text for text in whole):
        return f"{whole[0]}, so the rows say nothing about it."
    needed = sum(row["purpose"] in ("needed", "liveness") for row in rows)
    idle = sum(row["purpose"] == "nothing-broke" for row in rows)
    words = f"{needed} of {counted(len(rows), 'guard or setting', 'guards and settings')} "
    words += f"{'is' if needed == 1 else 'are'} needed"
    words += f": if {'it' if needed == 1 else 'any one of them'} is left out, a property is violated" if needed else ""
    cut = sum(row["purpose"] == "nothing-broke" and row["departure"] is not None for row in rows)
    left = f", but {cut} of these could not be decided, because some steps left a domain" if cut else ""
    unknown = sum(row["purpose"] == "undetermined" for row in rows)
    words += f"; {unknown} {'is' if unknown == 1 else 'are'} undetermined" if unknown else ""
    return words + (
        f"; leaving out {idle}{', one at a time,' * (idle > 1)} violated no property{left}." if idle else "."
    )


def _whole(data: Json) -> list[str]:
    eventual = eventual_of(data)
    found = [
        f"`{item['name']}` is violated by the unmodified protocol: {counted(item['length'], 'state')}"
        for item in data["properties"]
        if item["length"] is not None and item["verdict"] == "violated"
    ]
    found += [f"`{name}` is violated by the unmodified protocol" for name in eventual["violated"]]
    left = [name for name in eventual["asked"] if name not in {*eventual["holding"], *eventual["violated"]}]
    return [*found, *(f"`{name}` is undetermined for the unmodified protocol" for name in left)]


def print_matrix(
    console: Console, made: AblateResult, reach: str = "", *, legend: bool = True, verbose: bool = True
) -> None:
    data = made.to_dict()
    sentence = headline(data)
    print_lines(console, sentence, style="bold")
    for text in (f"{text}, so the rows say nothing about it." for text in _whole(data)):
        if text != sentence:
            print_lines(console, text, style="bold red" if "violated" in text else "yellow")
    if verbose:
        print_lines(console, data["sentence"], style="dim")
    meanings = meaning_for(data)
    found = {purpose: [row for row in data["rows"] if row["purpose"] == purpose] for purpose in meanings}
    for purpose, rows in found.items() if verbose else ():
        if rows:
            print_lines(
                console, "", joined((purpose, _STYLES.get(purpose, "bold")), f"  {len(rows)}: {meanings[purpose]}")
            )
            width = max(len(row["row"]) for row in rows)
            for row in rows:
                _print_row(console, row, width)
    if data["why_stopped"]:
        print_lines(console, "", f"Partial: {data['why_stopped']}. {not_run(data)}".rstrip(), style="yellow")
    for name, meaning in SUSPICIONS.items():
        if verbose and data["suspicions"].get(name) and name != "idle":
            print_lines(console, "", f"Suspicious: {meaning}:", style="bold yellow")
            print_lines(console, ", ".join(data["suspicions"][name]), indent=2)
    facts: list[tuple[str, Text | str]] = []
    if not verbose:
        facts += [(name, some(_rows(rows))) for name, rows in found.items() if rows]
        cut = [row for row in data["rows"] if row["departure"] and row["purpose"] in SAFE]
        if cut:
            text = f"{some(_rows(cut))}: steps that leave a domain are not followed"
            facts.append(("left a domain", styled(text, "yellow")))
        facts += [
            (name.replace("_", " "), styled(some(data["suspicions"][name]), "yellow"))
            for name in SUSPICIONS
            if data["suspicions"].get(name) and name != "idle"
        ]
    facts.append(("checked", reach) if reach else ("constants", in_values(data["constants"])))
    facts.append(("whole", f"{data['distinct']:,} distinct states, depth {data['depth']}"))
    if legend and verbose:
        facts.append(("numbers", NUMBERS))
    hint = "the meaning of each purpose, conditions, and lengths of traces" if legend and not verbose else ""
    print_answer(console, facts, hint=hint)


def _rows(rows: Sequence[Json]) -> list[str]:
    found: dict[str, list[str]] = {}
    for row in rows:
        action, _, number = row["row"].rpartition(" ")
        found.setdefault(action or number, []).extend([number] if action else [])
    return [unbroken(" ".join([action, "+".join(numbers)]).rstrip()) for action, numbers in found.items()]


def _print_row(console: Console, row: Json, width: int) -> None:
    condition = row["condition"] if row["kind"] == "guard" else row["sentence"]
    name = styled(f"{row['row']:{width}}", "bold" if row["purpose"] == "needed" else "")
    print_rows(console, [(name, condition if len(condition) <= LONG else condition[: LONG - 3] + "...")], indent=2)
    found = joined(*_found(row))
    if found:
        print_lines(console, found, indent=6)


def _found(row: Json) -> list[Any]:
    if row["purpose"] == "needed":
        broken = ", ".join(f"{name} {row['cells'][name]['length']}" for name in row["broken"])
        unknown = [name for name, cell in row["cells"].items() if cell["verdict"] == "undetermined"]
        return [(broken, "red"), f"; ? {', '.join(unknown)}" if unknown else ""]
    if row["purpose"] == "liveness":
        return [(", ".join(row["liveness"]), "red")]
    if row["why"]:
        return [row["why"]]
    if row["purpose"] == "bound" and row["departure"]:
        return [row["departure"]["message"]]
    if row["grown"]:
        return [f"{row['distinct']:,} states", *_beyond(row)]
    if row["purpose"] == "implied":
        if row["refused"]:
            return [f"refused first {row['refused']:,} times"]
        is_part = row["row"][-1:].isalpha()
        return ["the same steps are possible without it" if is_part else "earlier guards already refuse the same steps"]
    return [f"{row['alone']:,} steps are refused only by this guard", *_beyond(row)] if row["alone"] else []


def _beyond(row: Json) -> list[Any]:
    """Return a note about steps that left a domain; the search did not continue beyond them."""
    if not row["departure"]:
        return []
    return [
        ("; steps that leave a domain are not followed: ", "yellow"),
        row["departure"]["message"].rstrip("."),
        "; widen the domain to get a verdict",
    ]


def page(data: Json) -> str:
    sentences = {item["name"]: item["sentence"] for item in data["properties"]}
    meaning, left = meaning_for(data), not_run(data)
    return render_page(
        "matrix.html", data=data, meaning=meaning, not_run=left, sentences=sentences, suspicions=SUSPICIONS
    )
