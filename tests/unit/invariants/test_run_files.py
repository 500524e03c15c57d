"""Files of runs and of claims: their meaning, reports of mistakes in them, and pinned figures written into them."""

from dataclasses import replace
from importlib import resources

import pytest
from fencepost.api.calls.catalogue import pinned
from fencepost.invariants.catalogue import RUN_FILES, Profile
from fencepost.invariants.claim_files import read_claims, settle
from fencepost.invariants.run import Run
from fencepost.invariants.run_files import Runs
from fencepost.model.language.errors import UsageError

RUNS = """
protocol = "replication"

[ids]
G-S1 = "leader-has-committed"
G-S7 = "isr-members-are-current"
grows = "isr-grows"
returns = "broker-returns"
drops = "drops-until-settled"

[lists]
both = "G-S1, G-S7"

[sets]
small = "brokers=2 max_records=1"

[never]
grows = "fences=0 shrinks=0; brokers<2"

[[group]]
set = "small fences=1"
why = "the same of all"
run."2 brokers" = {pin=[10, 2]}
run."2 brokers, B09" = [{set="alter_partition_version=2 fences=2", pin=[1_000, 20], fails="both 7"},
  {why="its own", trace="G-S7 b09"}]
run."kafka-4.1 2 brokers" = {set="fences=0 shrinks=0", pin=[11, 3], profile="quick"}

[[group]]
set = "small"
title = "2 brokers in the end"
judges = "returns, drops"
worst = "drops 2"
serves = "this test"
run."" = {pin=[12, 4], fails="returns 5"}
run."kafka-4.0" = {pin=[13, 4], worst="drops unbounded"}
"""
CLAIMS = """
[texts]
rule = "A rule."

[[section]]
title = "Of a test"
kind = "step"
protocol = "replication"

[section.G-S7]
sentence = '''Members of the ISR
are current.'''
about = {source="a KIP", verdict="broken"}
answer = "Not so. {rule}"
runs.replication = ["2 brokers", "2 brokers, B09", "|kafka-4.0 2 brokers in the end: drops"]

[section.B09]
kind = "bug"
sentence = "Something is wrong."
source = "KAFKA-1"
switch = "alter_partition_version=2"
by = "G-S1, G-S7"

[section.SEED-1]
kind = "claim"
sentence = "The same."
about = {source="another KIP", as="G-S7"}

[section.SEED-2]
kind = "claim"
sentence = "In one version."
source = "another KIP"
gap = "{rule}"
runs.replication = ["kafka-4.1 2 brokers: G-S1"]
"""


@pytest.fixture
def runs() -> Runs:
    return Runs({"the file": RUNS})


def test_a_row_has_what_its_group_its_key_and_its_lists_say(runs: Runs) -> None:
    plain, b09, kafka, end, later = runs.all
    assert plain.constants == {"brokers": 2, "max_records": 1, "fences": 1}
    assert b09.constants == {**plain.constants, "fences": 2, "alter_partition_version": 2}
    assert (plain.why, b09.why) == ("the same of all", "its own")
    assert (b09.distinct, b09.depth) == (1000, 20)
    assert (plain.profile, kafka.profile) == (Profile.CI, Profile.QUICK)
    assert (end.properties, end.worst) == (("broker-returns", "drops-until-settled"), {"drops-until-settled": 2})
    assert later.worst == {"drops-until-settled": "unbounded"}
    named = [("kafka-4.1", "2 brokers"), ("", "2 brokers in the end"), ("kafka-4.0", "2 brokers in the end")]
    assert [(run.version, run.title) for run in runs.all[2:]] == named
    assert runs.all[1].violated == {"leader-has-committed": 7, "isr-members-are-current": 7}
    assert runs.all[1].trace == {"isr-members-are-current": "replication-b09.trace"}
    assert [run.unreached for run in runs.all] == [(), (), ("isr-grows",), (), ()]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('protocol = "replication"', 'protocol = "replicatoin"', r"there is no protocol 'replicatoin'\. Did you mean"),
        ("[lists]", "[list]", r"there is no key 'list'"),
        ('"isr-grows"', '"isr-shrinks"', r"there is no property 'isr-shrinks'\."),
        ('set = "small fences=1"', 'set = "small fence=1"',
            r"run '2 brokers': there is no constant 'fence'\. Did you mean 'fences'"),
        ('set = "small fences=1"', 'set = "smal fences=1"', r"there is no set 'smal'"),
        ("fences=1", "fences=many", r"constant 'fences' was given 'many'"),
        ("pin=[11, 3]", "pni=[11, 3]", r"run 'kafka-4\.1 2 brokers': there is no key of a run 'pni'"),
        ("pin=[11, 3], ", "", r"the run has no figures: write a pin of zeros"),
        ('profile="quick"', 'profile="fast"', r"there is no profile 'fast'.* Write one of: quick, ci, full"),
        ('"both 7"', '"G-S9 7"', r"there is no judged property for `fails`: 'G-S9'"),
        ('"both 7"', '"both seven"', r"a trace's number of states is 'seven': expected a whole number"),
        ('"both 7"', '"both"', r"'both' is a single word: expected a name and a value, such as"),
        ('"both 7"', '"grows 7"', r"isr-grows is a witness, which cannot fail: write it under `never`"),
        ('trace="G-S7 b09"', 'never="G-S7"', r"isr-members-are-current is not a witness"),
        ('shrinks=0", pin', 'shrinks=0", never="grows", pin', r"isr-grows is already listed under \[never\]"),
        ('trace="G-S7 b09"', 'worst="G-S7 3"', r"isr-members-are-current does not bound a cost"),
        ('"drops unbounded"', '"drops many"', r"the worst case of drops-until-settled is 'many'"),
        ('run."kafka-4.1 2 brokers" =', "run.'2 brokers' =", r"cannot be read as TOML: Cannot overwrite"),
        ('run."kafka-4.0" =', 'run."kafka-9.9" =', r"protocol 'replication' has no version 'kafka-9\.9'"),
        ('title = "2 brokers in the end"', 'title = "2 brokers"', r"two runs have the name 'replication 2 brokers'"),
        ('{why="its own"', '{pin=[1, 1], why="its own"', r"'pin' was given twice: remove one of the two"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_runs_is_named_with_its_run(old: str, new: str, message: str) -> None:
    assert old in RUNS
    with pytest.raises(UsageError, match=r"^the file:? ") as found:
        Runs({"the file": RUNS.replace(old, new, 1)})
    assert found.match(message)


def settled(claims: str, runs: Runs) -> dict[str, list[tuple[str, str]]]:
    found = {claim.entry.id: claim for claim in read_claims("claims", claims)}
    return {item: [(case.run.short_name, case.prop) for case in has.cases] for item, has in settle(found, runs).items()}


def test_an_entry_has_the_runs_that_it_names_and_is_asked_about_itself(runs: Runs) -> None:
    found = settled(CLAIMS, runs)
    assert found["G-S7"] == [
        ("2 brokers", "isr-members-are-current"),
        ("2 brokers, B09", "isr-members-are-current"),
        ("2 brokers in the end", "drops-until-settled"),
        ("kafka-4.0 2 brokers in the end", "drops-until-settled"),
    ]
    assert found["SEED-1"] == found["G-S7"]


ONE_SWITCH = RUNS.replace(" fences=2", "")
NAMED = [("2 brokers, B09", "leader-has-committed"), ("2 brokers, B09", "isr-members-are-current")]
TWIN = [("2 brokers", "leader-has-committed"), ("2 brokers", "isr-members-are-current")]


def test_a_bug_has_the_runs_whose_titles_name_it_with_their_twins_and_then_those_that_it_names(runs: Runs) -> None:
    assert settled(CLAIMS, runs)["B09"] == NAMED
    switched, by = Runs({"": ONE_SWITCH}), 'by = "G-S1, G-S7"'
    assert settled(CLAIMS, switched)["B09"] == [*NAMED, *TWIN]
    more = CLAIMS.replace(by, f'{by}\nruns.replication = ["kafka-4.1 2 brokers: G-S7"]')
    assert settled(more, switched)["B09"] == [*NAMED, *TWIN, ("kafka-4.1 2 brokers", "isr-members-are-current")]
    alone = CLAIMS.replace(by, 'alone = true\nruns.replication = ["2 brokers, B09: G-S7"]')
    assert settled(alone, switched)["B09"] == [NAMED[1]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"2 brokers", ', '"3 brokers", ', r"entry G-S7: there is no run of replication '3 brokers'"),
        ("runs.replication", "runs.replicating", r"there is no protocol 'replicating'"),
        ('"2 brokers", ', '"2 brokers: G-S99", ', r"entry G-S7: protocol 'replication' has no property 'G-S99'"),
        ('by = "G-S1, G-S7"', 'by = "G-S1, G-S77"',
            r"entry B09: `by` lists 'G-S77', but no protocol has such a property"),
        (": drops", "", r"run 'replication 2 brokers in the end' decides nothing about G-S7"),
        ('kind = "bug"', 'kind = "bugs"', r"claims: entry B09: there is no kind 'bugs'"),
        ('verdict="broken"', 'verdict="wrong"', r"there is no verdict 'wrong'"),
        ('verdict="broken"', 'verdict="broken", harm="loses"', r"there is no harm 'loses'"),
        ('as="G-S7"', 'as="G-S8"', r"entry SEED-1: there is no entry 'G-S8'"),
        ('as="G-S7"', 'same_as=["G-S8"]', r"entry SEED-1: there is no entry 'G-S8'"),
        ('gap = "{rule}"', 'classes = "hold: 4.1.2"', r"entry SEED-2: there is no verdict of Kafka's classes 'hold'"),
        ("Not so. {rule}", "Not so. {ruel}", r"there is no shared text 'ruel'\. Did you mean 'rule'"),
        ('source = "KAFKA-1"\n', "", r"entry B09: the entry has no source: write one"),
        ("switch =", "swich =", r"there is no key of an entry 'swich'\. Did you mean 'switch'"),
        ('runs.replication = ["kafka-4.1 2 brokers: G-S1"]', "",
            (r"run 'replication kafka-4\.1 2 brokers' does not decide anything: "
            r"name it in an entry, or state its purpose under `serves`")),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_of_claims_is_named_with_its_entry(runs: Runs, old: str, new: str, message: str) -> None:
    assert old in CLAIMS
    with pytest.raises(UsageError, match=message):
        settled(CLAIMS.replace(old, new, 1), runs)


FILE = '''# A comment.
protocol = "quorum"

[ids]
KR-S4 = "committed-is-the-same-everywhere"
stops = "nobody-fails"
delay = "commit-is-known-in-time"

[[group]]  # another
set = "nodes=3 voters=3"
run."3 voters" = {pin=[77_039, 28]}  # a third
run."3 voters, Q8" = [{set="diverging_high_watermark_counts=on", pin=[0, 0]},
  {fails="""KR-S4 9,
  stops 10""", why="9 and 10 stay here"}]

[[group]]
judges = "delay"
run."clock" = {pin=[3, 4], worst="delay 203"}
run."clock, ignored" = {set="empty_answers_raise_high_watermark=off", pin=[5, 6], fails="delay 18", worst="delay never"}
'''


def figures(name: str) -> Run:
    (run,) = (run for run in Runs({"a file": FILE}).all if run.name == f"quorum {name}")
    return run


@pytest.mark.parametrize("name", RUN_FILES)
def test_writing_what_is_pinned_already_changes_no_character(name: str) -> None:
    text = (resources.files("fencepost.invariants") / "runs" / f"{name}.toml").read_text()
    assert pinned(name, text, {run.name: run for run in Runs({name: text}).all}) == text


def test_a_figure_that_a_group_shares_and_a_row_of_another_form_are_not_changed() -> None:
    shared = FILE.replace('judges = "delay"\n', 'judges = "delay"\nworst = "delay 203"\n')
    other = FILE.replace('run."3 voters" = {pin=[77_039, 28]}', 'run."3 voters".pin = [77_039, 28]')
    late = replace(figures("clock"), worst={"commit-is-known-in-time": 204})
    with pytest.raises(UsageError, match=r"figures of .quorum clock. are defaults of its group"):
        pinned("a file", shared.replace(', worst="delay 203"', ""), {"quorum clock": late})
    with pytest.raises(UsageError, match="figures are written into rows of the form"):
        pinned("a file", other, {"quorum 3 voters": figures("3 voters")})
