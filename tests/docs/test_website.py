"""Pages of the site, one of each sort, are made from the models, the catalogue and the figures."""

import html
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from fencepost.api.topics.advice_words import change_of, headline, released_of, row_of
from fencepost.api.topics.advising import advise
from fencepost.api.topics.matrices import best_of, measured
from fencepost.api.topics.measured import cells, outcome
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.removal import guards
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.site import build as building
from fencepost.site import links, protocols, settings
from fencepost.site.build import GROUPS, build_site
from fencepost.site.build import built as built_pages
from fencepost.site.places import of_entry, of_run, of_trace, rendered, slug

from tests.helpers.commands import fencepost, refused
from tests.helpers.places import DOCS

built = cache(built_pages)


def settings_page(test: Callable[..., None]) -> pytest.MarkDecorator:
    """Mark a test of the page of settings: it takes half a minute to build, so its tests share one."""
    return pytest.mark.long(pytest.mark.xdist_group("settings")(test))


@pytest.fixture(scope="module")
def kip320() -> str:
    return "\n".join(protocols.page(protocol("kip320")))


def test_a_guard_has_what_was_found_without_it_and_the_history_opens_with_it_removed(kip320: str) -> None:
    for guard in guards(protocol("kip320").machine):
        assert f"`{guard.condition}`".replace("|", "\\|") in kip320
    rows = [row for row, _ in best_of(measured()["kip320"]).values() if row["kind"] == "guard"]
    assert kip320.count("**needed**") == sum(row["purpose"] == "needed" for row in rows) > 10
    found = re.findall(r"\[explore\]\(\.\./explore/index\.html#kip320\?[^)]*removed=([^&)]+)[^)]*steps=[^)]+\)", kip320)
    assert "follower-fetch+1" in found


@pytest.mark.parametrize("name", PROTOCOLS)
def test_runs_have_the_pinned_counts_and_lengths(name: str) -> None:
    text = "\n".join(protocols.runs_page(name))
    for run in runs_of(name):
        row = next(line for line in text.splitlines() if f'<a id="{of_run(run).partition("#")[2]}"></a>' in line)
        assert f"| {run.distinct:,} | {run.depth:,} |" in row
        assert all(f"[{prop}](" in row and f") {length}" in row for prop, length in run.violated.items())


@pytest.fixture(scope="module")
def chosen() -> str:
    return "\n".join(settings.page())


@pytest.fixture(scope="module")
def answers(chosen: str) -> dict[str, str]:
    """Return the text for each choice, assembled like the page's script does."""
    pieces = re.findall(r'<section class="answer" id="piece-\d+" hidden>(.*?)</section>', chosen, re.DOTALL)
    index = json.loads(re.findall(r'id="index">(.*?)</script>', chosen)[0])
    return {key: "".join(pieces[number] for number in numbers) for key, numbers in index.items()}


@settings_page
def test_without_a_script_the_page_of_settings_has_every_measured_cell(chosen: str) -> None:
    for replicas, point in ((count, point) for count in (2, 3) for point in cells(count)):
        named = point["setting"].items()
        setting = [value if name == "min_isr" else "on" if value else "off" for name, value in named]
        row = "</td><td>".join(map(str, (replicas, *setting, outcome(point))))
        assert f"<tr><td>{row}</td></tr>" in chosen


@settings_page
def test_a_release_before_elr_has_no_answer_with_elr_and_never_hears_of_it(answers: dict[str, str]) -> None:
    assert not [key for key in answers if key.split()[3] == "on" and key.split()[5] < "4.0"]
    before = {key: text for key, text in answers.items() if key.split()[5] < "4.0"}
    assert len(before) == 5 * 5 * 3 * 2 * 3
    assert not [key for key, text in before.items() if "eligible leader replicas=on" in text]
    assert "operations can lose records" in before["3 2 all off off 3.9"].partition("</p>")[0]


@settings_page
def test_the_page_and_the_command_give_the_same_answer(answers: dict[str, str]) -> None:
    for key, text in answers.items():
        replicas, min_isr, acks, elr, unclean, kafka = key.split()
        given = {"kafka": kafka, "acks": acks, "elr": elr == "on", "unclean_election": unclean == "on"}
        data = advise(int(replicas), int(min_isr), **given).to_dict()
        shown_cells = [cell for item in data["operations"] for cell in row_of(item)]
        lines = [
            headline(data), *shown_cells, released_of(data), *(": ".join(change_of(item)) for item in data["changes"]),
        ]  # fmt: skip
        shown = html.unescape(re.sub(r"<[^>]*>", "", text))
        assert [line for line in lines if line not in shown] == [], key
        assert text.count("<li><code>") == len(data["changes"]), key


@settings_page
@pytest.mark.parametrize("key", ["3 2 all on off 4.1", "3 2 all off off 3.9", "5 2 1 on on 4.4", "2 3 all on off 4.4"])
def test_the_command_prints_what_the_page_says(answers: dict[str, str], key: str) -> None:
    replicas, min_isr, acks, elr, unclean, kafka = key.split()
    asked = ("--replicas", replicas, "--min-isr", min_isr, "--acks", acks, "--elr", elr, "--unclean-election", unclean)
    printed = " ".join(fencepost("advise", "-v", *asked, "--kafka", kafka).stdout.split())
    for paragraph in re.findall(r"<p[^>]*>(?!<a)(.*?)</p>", answers[key]):
        for line in paragraph.partition(". <a ")[0].split("<br>"):
            plain = html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</?code>", "`", line)))
            assert " ".join(plain.split()) in printed
    assert "`" not in answers[key]


def test_links_of_prose_stay_on_the_site(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "findings").mkdir(parents=True)
    for name in ("model.py", "LICENSE"):
        (tmp_path / name).write_text("x = 1\n")
    (docs / "other.md").write_text("# Other\n")
    (docs / "findings" / "one.md").write_text(
        "Text [a](../../counterexamples/archive/kip101-weak-isr.trace), "
        "[b](../other.md#x), [c](../../model.py), [d](https://kafka.apache.org).\n"
        "A list:\n- [e][e]\n\n```sh\n[f](../../model.py)\n```\n\n[e]: ../../LICENSE\n"
    )
    found = links.pages(docs, {})
    assert found["findings/one.md"] == (
        "Text [a](../traces/kip101-weak-isr.html), [b](../other.md#x), "
        "[c](../source/model.py.md), [d](https://kafka.apache.org).\n"
        "A list:\n\n- [e][e]\n\n```sh\n[f](../../model.py)\n```\n\n[e]: ../source/LICENSE.md\n"
    )
    assert "x = 1" in found["source/model.py.md"]
    assert slug("What `check` does, and HYP-1: max_records") == "what-check-does-and-hyp-1-max_records"


def test_words_that_name_something_become_links_where_they_are_not_links_yet() -> None:
    page = (
        '<article class="x"><h2>HYP-1</h2><p>See HYP-1, <a href="q">HYP-3</a>, '
        "HYP-100, KAFKA-14617, <code>follower-fetch</code> and "
        "<code>leader-has-acknowledged</code>.</p><pre>HYP-1</pre></article><p>HYP-1</p>"
    )
    found = links.linked(page, "findings.html", "kip320")
    assert found.count('class="known"') == 4
    assert f'<a class="known" href="{rendered(of_entry("HYP-1"), "findings.md")}">HYP-1</a>,' in found
    assert 'href="https://issues.apache.org/jira/browse/KAFKA-14617">KAFKA-14617</a>' in found
    assert '<a class="known" href="protocols/kip320.html#follower-fetch">follower-fetch</a>' in found


def test_the_page_of_a_trace_leads_into_the_explorer_and_to_what_it_is_evidence_for() -> None:
    text = building.trace_page("kip101-weak-isr")
    assert '<a href="../explore/index.html#trace=kip101-weak-isr">Open in the explorer</a>' in text
    assert 'href="../protocols/kip101.html"' in text
    assert 'href="../guarantees/bugs.html#b02"' in text
    assert (ARCHIVE / "kip101-weak-isr.trace").is_file()
    assert of_trace("archive/x.trace") == "traces/x.html"


def test_the_build_says_what_it_makes_unless_it_is_to_be_quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def generate(_: Path, output: Path, __: object) -> None:
        for name in ("index.html", "404.html"):
            (output / name).write_text("x")

    monkeypatch.setattr(building, "write", lambda folder, _: folder.mkdir())
    monkeypatch.setattr(building, "write_traces", lambda _, workers, tell: tell(workers))
    stages = {"gather": lambda pages, _: pages.mkdir(), "generate": generate, "navigation": lambda _: [], "stale": list}
    for name, stand_in in {**stages, "require_generator": lambda: None, "join": lambda _: None}.items():
        monkeypatch.setattr(building, name, stand_in)
    done = fencepost("site", "--output", str(tmp_path / "site"))
    said = done.stderr.splitlines()
    assert [line[:17] for line in said] == [f"fencepost: {number} of 5" for number in range(1, 6)], done.output
    assert re.search(r"1 page, 0\.0 MB, in [\d.]+ s$", done.stdout.strip())
    assert fencepost("site", "--output", str(tmp_path / "other"), "--quiet").stderr == ""


@pytest.mark.long
def test_no_text_of_a_link_is_a_file_and_the_menu_names_pages_that_are_there() -> None:
    texts = {place: text for place, text in links.pages(DOCS, built()).items() if not place.startswith("source/")}
    assert {place: found for place, text in texts.items() if (found := re.findall(r"\[[\w/-]+\.md\]\(", text))} == {}
    wanted = {name for group in GROUPS.values() for name in group} - {"settings.md", "traces.md", "runs/"}
    missing = {name for name in wanted if not any(place.startswith(name) for place in texts)}
    assert missing == {name for name in wanted if name.startswith("protocols/")}


def test_what_the_site_lacks_is_named_and_a_folder_with_other_files_is_not_emptied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as without:
        without.setattr("importlib.util.find_spec", lambda _: None)
        done = fencepost("site", "--output", str(tmp_path / "site"))
    assert (done.exit_code, (tmp_path / "site").exists()) == (2, False)
    assert "pip install 'fencepost[site]'" in done.stderr
    monkeypatch.setattr("fencepost.site.build.require_generator", lambda: None)
    (tmp_path / "thesis.tex").write_text("mine")
    assert "contains other files" in refused("site", "--output", str(tmp_path), "--docs", str(DOCS))
    with pytest.raises(ValueError, match="contains no pages of Fencepost"):
        build_site(tmp_path / "site", tmp_path)
