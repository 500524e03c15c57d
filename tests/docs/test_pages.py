"""Pages are short, their links resolve, and their claims match the figures and the catalogue."""

import json
import re
from pathlib import Path

import pytest
from fencepost.api.topics.matrices import bases, best_of, histories, history, history_of_faults, measured
from fencepost.invariants.catalogue import Profile, entries, evidence, runs, runs_of
from fencepost.invariants.figures.store import FOLDER, load, text_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError
from fencepost.site import build, protocols
from fencepost.site.places import of_guard
from fencepost.site.stale import SIZES, crashes_measured, refuted
from fencepost.site.tables import MARK, with_tables
from fencepost.site.tables import measured as measured_runs

from tests.helpers.parameters import few
from tests.helpers.places import DOCS, ROOT

PAGES = sorted(DOCS.rglob("*.md"))
REPORTS = [page for page in PAGES if page.parent.name == "findings"]
GUIDES = [page for page in PAGES if page.parent.name not in ("findings", "decisions")]
WRITTEN = [*sorted(ROOT.glob("*.md")), *PAGES]
BY_HAND = [file.relative_to(DOCS).as_posix() for file in PAGES if MARK in file.read_text()]
MOST_GUIDES, WORDS_OF_GUIDES, WORDS_OF_A_REPORT, WORDS_OF_A_DECISION, ALL_WORDS = 30, 35_000, 600, 200, 60_000
ROW, BYTES_OF_FIGURES = 300, 2_140_000


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def words(page: Path, *, by_hand: bool = False) -> int:
    text = page.read_text()
    return len((re.sub(r"<!-- cases .*?<!-- end -->", "", text, flags=re.DOTALL) if by_hand else text).split())


# -- sizes


def test_pages_are_short_enough_to_be_read() -> None:
    assert len(GUIDES) <= MOST_GUIDES
    assert sum(words(page, by_hand=True) for page in GUIDES) <= WORDS_OF_GUIDES
    assert sum(map(words, WRITTEN)) <= ALL_WORDS
    most = dict.fromkeys(REPORTS, WORDS_OF_A_REPORT) | dict.fromkeys(DOCS.glob("decisions/*.md"), WORDS_OF_A_DECISION)
    assert [name_of(page) for page, limit in most.items() if words(page) > limit] == []
    rows = [line for page in PAGES for line in page.read_text().splitlines() if line.startswith("| ")]
    assert [line[:80] for line in rows if len(line) > ROW] == []


def test_figures_are_small_and_have_one_row_a_line() -> None:
    files = sorted(FOLDER.rglob("*.json"))
    assert sum(file.stat().st_size for file in files) <= BYTES_OF_FIGURES
    for file in files:
        text = file.read_text()
        assert text == text_of(json.loads(text)) + "\n", file.name


# -- links


def targets(text: str) -> list[str]:
    """Return the targets of a page's links, inline and below a table."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", plain) + re.findall(r"^\[[^\]]+\]: (\S+)$", plain, re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the possible anchors of a page: its headings as GitHub names them, and its own anchors."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return made | set(re.findall(r'<a id="([^"]+)">', plain))


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_link_and_path_of_a_page_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    lost = []
    for target in targets(text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            lost.append(target)
    rooms = "model|invariants|explorers|counterexamples|kafka|api|cli|docs|tests|benchmarks"
    named = set(re.findall(rf"`((?:{rooms})/[a-z_./0-9-]*)`", text))
    assert lost + [item for item in named if not (ROOT / item).exists()] == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page not in reached and page.suffix == ".md" and page.is_file():
            reached.add(page)
            named = (target.partition("#")[0] for target in targets(page.read_text()) if "://" not in target)
            waiting += [page.parent / target for target in named]
    assert [name_of(page) for page in WRITTEN if page.resolve() not in reached] == []


def test_what_python_and_claims_say_of_pages_exists() -> None:
    own = [item for item in ROOT.iterdir() if not item.name.startswith(".")]  # hidden: environments, caches
    files = (file for item in own for file in ([item] if item.is_file() else item.rglob("*")))
    texts = [file for file in files if file.suffix in (".py", ".toml")]
    named = {(name, file) for file in texts for name in re.findall(r"\bdocs/[a-z0-9/-]+\.md", file.read_text())}
    lost = [f"{name_of(file)}: {name}" for name, file in named if not (ROOT / name).exists() and name != "docs/x.md"]
    assert lost == []
    assert len(named) > 10


# -- what pages say


def _command_of(name: str) -> str:
    shown = f"'{name}'" if " " in name else name
    return f"fencepost guarantees {name if name.split(maxsplit=1)[0] in entries() else f'--table {shown}'}"


@pytest.mark.parametrize("name", BY_HAND)
def test_in_the_place_of_a_table_stands_its_command_or_the_table_itself(name: str) -> None:
    places = re.compile(rf"{MARK}([^\n]*) -->\n\n(.*?)\n\n<!-- end -->", re.DOTALL)
    text = (DOCS / name).read_text()
    made = places.findall(with_tables(text, name))
    for (which, stands), (_, table) in zip(places.findall(text), made, strict=True):
        assert stands == table or f"`{_command_of(which)}`" in stands


@pytest.mark.parametrize("page", [*REPORTS, DOCS / "kafka/findings.md", ROOT / "README.md"], ids=name_of)
def test_runs_on_clusters_are_as_many_as_were_recorded(page: Path) -> None:
    played = [run for run in load("clusters")["runs"] if run["mode"] == "played"]
    text = " ".join(page.read_text().split())
    told = re.findall(r"`(hyp-[\w-]+)`: (\d+) of (\d+) runs", text)
    for name, did, of in told:
        own = [run for run in played if run["finding"] == name and run["expected"] != "kept"]
        harmed = [run for run in own if run["verdict"] == run["expected"]]
        assert (int(did), int(of)) == (len(harmed), len(own)), name
    counts = {(run["lost"], run["acknowledged"]) for run in played}
    for lost, of in re.findall(r"([\d,]+) of ([\d,]+) (?:acknowledged )?records", text):
        assert (int(lost.replace(",", "")), int(of.replace(",", ""))) in counts
    assert told or page.name != "findings.md"


def test_each_finding_has_one_page_in_the_table_that_says_how_to_avoid_it() -> None:
    table = (DOCS / "kafka/findings.md").read_text()
    own = {item.stem.upper(): " ".join(item.read_text().split()).lower() for item in REPORTS}
    found = [name for name in evidence() if name.startswith("HYP-")]
    for name in found:
        assert f"[{name}](findings/{name.lower()}.md)" in table or f"({name})" in table, name
        avoid = evidence()[name].avoid.lower().rstrip(".")
        assert " ".join(avoid.split()) in own.get(name, "") or not avoid, name


@pytest.mark.parametrize("page", [page for page in PAGES if MARK in page.read_text()], ids=name_of)
def test_runs_and_switches_that_a_page_names_exist(page: Path) -> None:
    text = re.sub(r"<!-- cases .*?<!-- end -->", "", page.read_text(), flags=re.DOTALL).replace("\n", " ")
    names = {run.name for run in runs()}
    titles = re.findall(r"\*((?:kafka-\d\.\d )?\d brokers.*?)\*", text)
    assert [title for title in titles if f"replication {title}" not in names] == []
    declared = {name for item in PROTOCOLS.values() for name in item.machine.constants.declared()}
    settings = re.findall(r"(?:`|--set )([a-z]+_[a-z_]+)=[a-z0-9-]+", text)
    assert [item for item in settings if item not in declared] == []


def test_what_was_measured_is_what_is_pinned() -> None:
    """If this fails: `python -m benchmarks.figures.catalogue`, or `python -m benchmarks.spark`."""
    pinned = {run.name: (run.distinct, run.depth) for run in runs()}
    for name, found in measured_runs().items():
        assert (found["distinct"], found["depth"]) == pinned[name]
    own = {run.name for run in runs_of("replication") if not run.properties and run.profile is not Profile.FULL}
    assert own <= set(measured_runs())
    search, executors = load("spark")["search"], load("spark")["executors"]
    assert (search["spark"]["distinct"], search["spark"]["depth"]) == pinned[search["run"]]
    assert executors["one"]["distinct"] == executors["two"]["distinct"] == pinned[executors["run"]][0]


# -- histories


@pytest.mark.parametrize("name", few(bases(), 3))
def test_every_measured_history_replays_and_each_needed_row_has_one(name: str) -> None:
    found = list(histories(measured()[name]))
    assert found
    for row, base in found:
        made = history(name, (row, base))
        first, length = next(iter(row["broken"].items()))
        assert made.trace.prop is not None
        assert (made.trace.prop.name, made.path.length, made.verdict) == (first, length, "violated")
    assert all(("steps" in row) == bool(row["broken"]) for row, _ in best_of(measured()[name]).values())


@pytest.mark.parametrize("replicas", list(SIZES))
def test_every_history_of_a_fault_table_replays(replicas: str) -> None:
    data = crashes_measured()[replicas]
    found = [(point, item) for point in data["grid"] for item in point["front"]]
    assert found
    for point, item in found:
        assert history_of_faults(data, point, item).path.length == item["length"]


def test_a_history_that_the_model_refuses_is_an_error_and_no_verdict_of_stale_figures_is_refuted_by_one() -> None:
    row, base = next(histories(measured()["kip320"]))
    with pytest.raises(UsageError):
        history("kip320", ({**row, "steps": row["steps"][1:]}, base))
    assert list(refuted()) == []


@pytest.mark.long
def test_the_pages_on_checks_have_every_guard_of_the_measured_protocols() -> None:
    made = build.built()
    for name, data in measured().items():
        assert f"](../protocols/{name}.md#actions)" in made[f"checks/{name}.md"]
        text = "\n".join(protocols.page(PROTOCOLS[name]))
        assert all(f"### {item.label}\n\n{item.sentence}\n" in text for item in PROTOCOLS[name].machine.actions)
        guarded = [found for found, _ in best_of(data).values() if found["kind"] == "guard"]
        assert guarded
        assert all(of_guard(name, found["row"]).partition("#")[2] in text for found in guarded)
