"""Every user error ends as one message on stderr: what was given, why it is refused, what to write."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fencepost.api.asking.constants import axes_of
from fencepost.cli.commands.options import Count
from fencepost.cli.main import run
from fencepost.invariants.protocols import protocol

from tests.helpers.blocks import whole
from tests.helpers.commands import fencepost
from tests.helpers.places import MACHINES, ROOT
from tests.helpers.written import HEAD

ENGINES = (
    "The engines are: native (exhaustive breadth-first search in compiled code, on all processors); "
    "plain (the reference search in Python, which defines the semantics and is slow); "
    "spark (the native search distributed over Apache Spark, for state spaces too large for one machine)."
)
PROTOCOLS = (
    "The protocols are: truncate-to-hwm, kip101, kip279, kip320-first-try, kip320, replication, quorum, "
    "metadata-reads, leader-discovery, hints-and-tokens, follower-reads, watermark-propagation, controller-failover, "
    "unclean-recovery, broker-sessions, topic-deltas, idempotent-producer, tiers, directory-moves."
)
PROPERTIES = (
    "The properties are: weak-isr, strong-isr, leader-in-isr-or-none, committed-on-all-replicas, follower-truncates, "
    "leader-changes, isr-grows-back."
)
KIP320 = "from fencepost.model.lineage.kip320 import MACHINE"
PLANTED, LAMPS = (MACHINES / f"{name}.py" for name in ("planted", "lamps"))
REFUSED = f"""
$ check kip32
there is no protocol 'kip32'. Did you mean 'kip320'? {PROTOCOLS}
$ check kip320 --property weak-is
protocol 'kip320' has no property 'weak-is'. Did you mean 'weak-isr'? {PROPERTIES}
$ check kip320 --set replica=3
protocol 'kip320' has no constant 'replica'. Did you mean 'replicas'? The constants are: replicas, log_size,
max_records, max_leader_epoch.
$ check kip320 --set replicas
--set 'replicas' has no value: write NAME=VALUE, such as --set replicas=3.
$ check kip320 --set replicas=9
constant 'replicas' was given 9, which is out of range: write a value from 1 to 5 (replicas of the partition).
$ check kip320 --set replicas=two
constant 'replicas' was given 'two': expected a whole number from 1 to 5.
$ check kip320 --set replicas=2 --set replicas=3
constant 'replicas' has two values, --set replicas=2 and --set replicas=3: leave one of them out.
$ check replication --version kafka-4.1 --version kafka-3.5
--version was given 2 times, but it takes one value: write it once. `fencepost --help` lists all options.
$ check replication --set brokers=2 --property follower-rejoins --compact
property 'follower-rejoins' is about whole behaviours, which are checked on the graph of all states, but `--compact`
stores no states: omit that option, or name other properties in `--property`.
$ check kip320 --with replicas
--with replicas: constant 'replicas' is not a switch but a number or a choice, so write --set replicas=VALUE.
$ check kip320 --with elr
--with elr: protocol 'kip320' has no switch 'elr'. The switches are: none.
$ check replication --with elr=true
--with elr=true: a switch takes no value, so write --with elr.
$ check replication --with elr=false
--with elr=false: a switch takes no value, so write --without elr.
$ check replication --set truncation=kip101
constant 'truncation' was given 'kip101'. Did you mean 'kip-101'? Write one of: high-watermark, kip-101, kip-279,
fetch.
$ check kip320 --version 3.5
protocol 'kip320' has no version '3.5'. It has no named versions.
$ check kip320 --engine spark --compact
the spark engine does not support --compact: leave it out.
$ check kip320 --engine spark --workers 2
the spark engine does not support --workers: write --master 'local[N]' for N processors.
$ check kip320 --engine spark --master spark://host:7077
with --master spark://host:7077 the executors keep their states in a folder that all of them can read: add
--checkpoint with such a folder, or with a URL such as hdfs://host/folder.
$ check kip320 --master local[2]
--master applies only to Spark, but the engine is native: add --engine spark, or leave --master out.
$ check kip320 --engine spark --conf memory
--conf 'memory': expected a Spark setting, such as spark.executor.memory=4g.
$ check kip320 --engine nativ
there is no engine 'nativ'. Did you mean 'native'? {ENGINES}
$ check kip320 --engine plain --compact
the plain engine does not support --compact: leave it out, or write --engine native.
$ check kip320 --expect hold
--expect: there is no verdict 'hold'. Did you mean 'holds'? The verdicts are: holds, proved, not-found,
violated, unreached, undetermined.
$ check kip320 --memory lots
--memory 'lots' is not an amount of memory: expected a positive number with K, M, G or T, such as 8G.
$ check kip320 --memory 0G
--memory '0G' is not an amount of memory: expected a positive number with K, M, G or T, such as 8G.
$ check kip320 --budget soon
--budget 'soon' is not a duration: expected a positive number with s, m or h, such as 10m or
1h30m.
$ check kip320 --max-depth 0
Invalid value for '--max-depth': 0 is not in the range x>=1. `fencepost check --help` lists all options.
$ check kip320 --max-states 20x
--max-states '20x': expected a whole number, such as 20000, 20k or 1e6.
$ check kip320 --cross-check many
--cross-check 'many': expected a number of states, or all.
$ sweep kip320 --grid replicas=1..999999999 --walks 1
constant 'replicas' was given 6, which is out of range: write a value from 1 to 5 (replicas of the partition).
$ fuzz --replay /no/such/x.fuzz
/no/such/x.fuzz cannot be read: No such file or directory. Name a file that was written with `--output`.
$ check kip320 --min_isr 2
No such option '--min_isr'. Constants are set with --set: write --set min_isr=VALUE.
$ check kip320 --engine spark --master bogus
--master 'bogus': write local[N], spark://host:port, k8s://... or yarn.
$ check kip320 --resume
--resume needs a checkpoint to continue from: write --checkpoint DIR --resume.
$ check kip320 --trace /no/such/folder/x.trace
/no/such/folder/x.trace cannot be written: No such file or directory. Choose a place that you may write to.
$ check kip320 --checkpoint /no/such/folder/x
/no/such/folder/x cannot be written: No such file or directory. Choose a place that you may write to.
$ check kip320 --trace /tmp/x --junit /tmp/x
--trace and --junit name the same file, /tmp/x. Choose another file for one of them.
$ check kip320 kip101 --trace x.trace
--trace does not apply to several protocols: name one protocol, such as `fencepost check kip320 --trace ...`.
$ check --set replicas=2
--set does not apply to runs of the catalogue, which have fixed constants and expected results: name one
protocol, such as `fencepost check kip320 --set ...`.
$ check --profile big
there is no profile 'big'. The profiles are: quick, ci, full.
$ check kip320/none.py
there is no file kip320/none.py: name a protocol, or a Python file that defines MACHINE and PROPERTIES.
$ check /
/ is a folder: name a protocol, or a Python file that defines MACHINE and PROPERTIES.
$ compare kip320
there is nothing to compare kip320 with, because `Machine.replacing` did not make it from another model: name a second
model.
$ chek
There is no command 'chek'. Did you mean 'check'? `fencepost --help` lists all options.
$ guarantees --json --table clusters
--json and --table cannot be combined: use one of them.
$ show x.trace --format txt
there is no format 'txt'. Did you mean 'text'? The formats are: text, mermaid, itf, pytest, html, kafka-test.
$ show x.trace --output /no/such/folder/x
/no/such/folder/x cannot be written: No such file or directory. Choose a place that you may write to.
$ check --profile ci --strict
--strict does not apply to runs of the catalogue...
$ check --profile quick --dump ir
--dump does not apply to runs of the catalogue...
$ check kip320 --dump ams
there is no stage 'ams'. Did you mean 'asm'? The stages are: ir (the typed program, as documented in
docs/developing/program.md); llvm (the LLVM IR before optimization); asm (the optimized code for this processor).
$ check kip320 --pin
--pin updates the figures of catalogue runs...
$ check --no-normalize --pin
--pin cannot be combined with --no-normalize...
$ check kip320 --junit /no/such/folder/x
/no/such/folder/x cannot be written: No such file or directory. Choose a place that you may write to.
$ simulate kip320 --weight leader-write
--weight 'leader-write': expected ACTION=W with a whole number...
$ simulate kip320 --weight leader-write=x
--weight 'leader-write=x': expected ACTION=W with a whole number...
$ simulate kip320 --weight leader-wrote=1
protocol 'kip320' has no action 'leader-wrote'. Did you mean 'leader-write'? The actions are: controller-elect-lead...
$ simulate kip320 --walks 0
Invalid value for '--walks'...
$ simulate kip320 --depth 1000001
Invalid value for '--depth'...
$ faults quorum --property replicas-come-to-rest
...is of kind leads-to: the fewest faults are found level by level...Name one of one-leader-per-epoch, ...
$ ablate {PLANTED} --resume
`--resume` needs a checkpoint...
$ ablate {PLANTED} --guard entre
...has no guard 'entre'. Did you mean ...
$ ablate {PLANTED} --also seats
--also 'seats' has no value...
$ ablate {PLANTED} --property hall-is-full
'hall-is-full' (sometimes) cannot depend on a guard...
$ ablate {PLANTED} --liveness
...has no leads-to properties...
$ compare kip320 max_records=1 --set replicas=2 --on replcia
...replcia...
$ prove kip320 --depth 2 --strengthen
`--strengthen` cannot be combined with `--depth`...
$ graph {LAMPS} --format graphm
...Did you mean 'graphml'?...
$ graph {LAMPS} --set lamps=1 --max-states 3
...has more than 3 states under these constants...
$ advise --kafka 3.8
Fencepost does not support Kafka '3.8': write one of 3.5, 3.7...
$ advise --kafka 3.9 --elr on
...were added in 4.0...
$ advise --topic orders
...add --bootstrap-server...
$ advise --bootstrap-server h:1 --topic t --replicas 3
...leave one of them out...
$ advise --replicas 5 --trace x.trace
...no history that loses a record is known...
$ reproduce hyp-2
there is no scenario 'hyp-2'. Did you mean...
$ reproduce hyp-1 --control --repaired
`--control` and `--repaired` exclude each other...
$ reproduce hyp-1
no release of Kafka was given...
$ reproduce hyp-1 --kafka 4.9.2
The driver does not support Kafka 4.9.2. Did you mean '4.1.2'?...
$ conform leader-discovery --client librdkafke
...Did you mean 'librdkafka'?...
$ conform leader-discovery --client java==../x
...which contains neither a version nor a folder...
$ conform replication --client java
--client needs protocol `leader-discovery` or `idempotent-producer`...
$ conform leader-discovery --client java --kafka 4.1.2
...Leave out the others...
$ conform leader-discovery --client fencepost --story no-epoch-acepted
...Did you mean 'no-epoch-accepted'?...
$ conform leader-discovery --story no-epoch-accepted
--story needs --client...
$ conform kip320 --kafka 4.1.2
...Only `replication`, `quorum`, `tiers`, ... have one...
$ guarantees --table bug
there is no table or entry 'bug'....
$ guarantees --table 'lemmas kip32'
there is no proof 'kip32'....
$ guarantees --table cuts
there is no proof ''....
$ guarantees --table 'HYP-1 clusters'
there is no entry 'clusters'....
$ vacuity {PLANTED}
...fencepost ablate...
$ vacuity --row 'become-leader 2'
...needs exactly one measured protocol...
$ vacuity kip320 --row 'become-leader 9'
there is no measured row 'become-leader 9' of kip320. Did you mean...
$ vacuity kip320 --trace x.trace
--trace needs --row...
$ vacuity kip320 --row 'follower-fetch 1' --trace /nowhere/x.trace
/nowhere...
"""
"""Commands, each followed by its message, in which three dots stand for any text."""


@pytest.fixture
def counter(tmp_path: Path) -> Any:
    """Return a function that writes a machine counting to three, with changes, and returns its path."""

    def write(*changes: str) -> str:
        text = COUNTER
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "mine.py").write_text(text)
        return str(tmp_path / "mine.py")

    return write


@pytest.mark.parametrize("case", REFUSED.split("\n$ ")[1:], ids=lambda case: case.partition("\n")[0])
def test_bad_input_ends_with_status_2_and_one_message(case: str) -> None:
    command, *lines = case.strip().split("\n")
    result = fencepost(*shlex.split(command))
    any_text = ".*".join(map(re.escape, " ".join(lines).split("...")))
    assert re.fullmatch(f"fencepost: {any_text}\n", result.stderr, re.DOTALL), result.stderr
    assert result.stdout == ""
    assert result.exit_code == 2


def test_numbers_are_written_as_people_write_them() -> None:
    read = [Count(1).convert(text, None, None) for text in ("20m", "1e6", "1.5k", "100_000", "7")]
    assert read == [20_000_000, 1_000_000, 1500, 100_000, 7]
    axes = axes_of(protocol("replication").machine, ["min_isr=1..3", "elr=on,off"])
    assert axes == {"min_isr": [1, 2, 3], "elr": [1, 0]}


def test_help_has_groups_and_goes_by_its_name_too() -> None:
    helped = fencepost("help", "check").output
    assert helped == fencepost("check", "--help").output
    assert re.findall(r"^(\w+):$", helped, re.MULTILINE) == ["Model", "Search", "Spark", "Catalogue", "Output"]
    assert "\b" not in fencepost("mcp", "--help").output, "no control characters"


def test_a_program_is_not_replaced_by_what_a_command_writes(tmp_path: Path) -> None:
    model = tmp_path / "lock.py"
    model.write_text(KIP320)
    other = tmp_path / "link.trace"
    other.symlink_to(model)
    for output in (model, other):
        result = fencepost("check", str(model), "--trace", str(output))
        assert (
            result.stderr
            == f"fencepost: --trace names {output}, a Python file that already exists. Choose another file.\n"
        )
        assert result.exit_code == 2
    assert model.read_text().startswith("from")


def test_what_show_reads_is_not_replaced(counter: Any, tmp_path: Path) -> None:
    model, trace = Path(counter("number < 10", "number < 2")), tmp_path / "a.trace"
    assert fencepost("check", str(model), "--trace", str(trace)).exit_code == 1
    before = model.read_text(), trace.read_text()
    shown = ["show", str(trace), "--model", str(model)]
    for output, form in ((model, "pytest"), (model, "html"), (trace, "mermaid")):
        result = fencepost(*shown, "--format", form, "--output", str(output))
        assert (result.exit_code, f"--output names {output}" in result.stderr) == (2, True)
    assert (model.read_text(), trace.read_text()) == before
    test = tmp_path / "test_it.py"
    for _ in range(2):
        assert fencepost(*shown, "--format", "pytest", "--output", str(test)).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MACHINE = = 1", (":1: invalid syntax.\n  MACHINE = = 1\n            ^\nInstead, "
            "correct the line so that Python can parse it.")),
        ("def f():\n    return (1", (":2: '(' was never closed.\n  return (1\n         ^\nInstead, "
            "correct the line so that Python can parse it.")),
        ("import no_such_module",
            (":1: ModuleNotFoundError: No module named 'no_such_module'. Python must be able to run the file "
            "before the model can be read.\n  import no_such_module\n  ^^^^^^^^^^^^^^^^^^^^^")),
        (KIP320, " defines no PROPERTIES: assign a tuple of the results of @always, @step and @sometimes to it."),
        (f"{KIP320}\nfrom fencepost.invariants.lineage import weak_isr\nPROPERTIES = (weak_isr, weak_isr)",
            ": PROPERTIES contains two properties named 'weak-isr': give each a different name."),
    ],
)  # fmt: skip
def test_a_model_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    result = fencepost("check", str(file))
    assert result.stderr == f"fencepost: {file}{message}\n"
    assert result.exit_code == 2


@pytest.mark.parametrize("options", [[], ["--compact"], ["--engine", "plain"]], ids=["native", "compact", "plain"])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    require(s.epoch[broker] < 3)\n", "",
            "advance broker=0: State.epoch[0]: 4 is out of its domain 0..3. Guard the step"),
        ("for b in s.epoch)\n", "for b in s.epoch) and s.epoch[s.epoch[0] - s.epoch[1]] < 2\n",
            ("property 'close-together': State.epoch: NONE used as an "
            "index: the array has 2 elements, numbered from 0. Guard the step")),
    ],
    ids=["step", "property"],
)  # fmt: skip
def test_a_model_that_leaves_a_domain_is_shown_with_the_state_and_the_steps_to_it(
    tmp_path: Path, options: list[str], old: str, new: str, said: str
) -> None:
    text = (ROOT / "docs" / "start.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert text.count(old) == 1
    file = tmp_path / "mine.py"
    file.write_text(text.replace(old, new))
    result = fencepost("check", str(file), "--quiet", *options)
    message, line, caret, way = result.stderr.split("\n", 3)
    state, steps = re.split(r" steps?:\n", way)
    taken = re.findall(r"^\d+ advance broker=(\d)$", steps, re.MULTILINE)
    reached = [taken.count(str(broker)) for broker in range(2)]
    assert re.match(rf"fencepost: .*mine\.py:\d+: {re.escape(said)}", message)
    assert set(caret) == {" ", "^"}
    assert "s.epoch[" in line[caret.find("^") : len(caret)]
    assert state == f"In the state\n  epoch=[{reached[0]},{reached[1]}]\nafter {len(taken)}"
    assert reached == ([3, 3] if not new else [0, 1])
    assert result.exit_code == 2


@pytest.mark.parametrize("options", [[], ["--compact"], ["--engine", "plain"]], ids=["native", "compact", "plain"])
def test_a_violation_that_was_found_before_a_domain_was_left_is_reported_first(
    counter: Any, options: list[str]
) -> None:
    file = counter("    require(s.number < c.n)\n", "", "number < 10", "number < 2")
    result = fencepost("check", file, *options, "--json", "--quiet")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["verdict"], data["properties"][0]["length"]) == (1, "violated", 3)
    assert data["why_stopped"] == "the model raised an error in a step or a property"
    [note] = (item for item in data["notes"] if "out of its domain" in item)
    assert "count: State.number: 4 is out of its domain 0..3. Guard the step" in note
    steps = [f"{number + 1} count\n  number {number} -> {number + 1}" for number in range(3)]
    assert note.endswith("\n\n".join(["after 3 steps:\ninitial\n  number=0", *steps]))
    page = CliRunner(env={"COLUMNS": "500"}).invoke(run, ["check", file, *options, "--quiet"]).stdout
    assert (
        page.index("small is violated: the shortest")
        < page.index("The search ended, because the model raised an error")
        < page.index(f"{file}:")
    )


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_property_outside_the_language_that_is_not_asked_about_is_refused_before_anything_is_said(
    counter: Any, engine: str
) -> None:
    wrong = '@always\ndef odd(s, c) -> bool:\n    """Odd."""\n    return sorted([s.number])[0] < 10\n\nMACHINE = '
    file = counter("MACHINE = ", wrong, "(small, )", "(small, odd)")
    result = fencepost("check", file, "--engine", engine, "--property", "small", "--quiet")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'sorted' is not a helper that the language knows" in result.stderr


def test_a_violation_that_only_larger_bounds_have_counts(counter: Any, tmp_path: Path) -> None:
    file = counter("(s.number < c.n)", "(s.number < c.n, bound=C.n)", "number < 10", "number < 5")
    asked = ["check", file, "--quiet", "--grow", "20s"]
    result = fencepost(*asked, "--junit", str(tmp_path / "j.xml"))
    lines = result.stdout.splitlines()
    assert (result.exit_code, "violated with n=5" in result.stdout) == (1, True)
    assert lines[0].startswith(lines[-1])
    assert lines[-1].startswith("Violated with larger bounds: `")
    assert 'failures="1"' in (tmp_path / "j.xml").read_text()
    again = fencepost(*asked, "--set", "n=2", "--expect", "violated", "--json")
    assert (again.exit_code, json.loads(again.stdout)["verdict"]) == (0, "violated")
    assert fencepost(*asked[:3]).exit_code == 0


def test_a_search_that_was_kept_is_not_replaced(counter: Any, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    asked = ["check", counter(), "--checkpoint", str(folder), "--max-states", "2"]
    first, again, on = (fencepost(*asked, *more) for more in ([], [], ["--resume"]))
    assert [first.exit_code, again.exit_code, on.exit_code] == [3, 2, 3]
    assert again.stderr == (
        f"fencepost: {folder} contains the checkpoint of a search: "
        "write `--resume` to continue it, or name an empty folder.\n"
    )


COUNTER = HEAD + whole('''
class State(Record):
    number: Annotated[int, Range(0, C.n)]
@action()
def count(s, c):
    """Count on."""
    require(s.number < c.n)
    s.number += 1
@always
def small(s, c) -> bool:
    """The number stays below ten."""
    return s.number < 10
''')
