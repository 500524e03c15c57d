"""First screens of commands, as text. `python -m tests.unit.cli.test_screens` rewrites them."""

import io
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fencepost as f
import pytest
from fencepost.api.asking.constants import make_constants
from fencepost.api.calls.audit import AuditResult
from fencepost.api.calls.conform import Comparison, ConformResult
from fencepost.cli.commands.conform import print_conform
from fencepost.cli.printing import HINT
from fencepost.cli.views.audit import print_screen
from fencepost.cli.views.console import COLOURS, theme
from fencepost.kafka.clients.duties import NAMES
from fencepost.kafka.clients.events import Event, Play
from fencepost.kafka.clients.history import by_name
from fencepost.kafka.clients.install import Installed
from fencepost.kafka.clients.report import ClientOutcome, ClientReport, Failure
from fencepost.kafka.clients.rules import BrokenRule
from fencepost.kafka.conform.binding import binding
from fencepost.kafka.conform.histories import HistoriesOutcome, HistoriesReport
from fencepost.kafka.driver.execute import Difference, Tally
from fencepost.kafka.driver.releases import Release
from fencepost.model.language.interpreter import Step
from rich.color import Color
from rich.console import Console

from tests.helpers.commands import fencepost
from tests.helpers.places import MACHINES, ROOT

FOLDER = Path(__file__).parent / "screens"
LINES, COLUMNS = 24, 80
TIME = re.compile(r"\b\d+(\.\d+)? (m?s|min)\b(?= \(|,| of search time| of CPU| with|\.|$)", re.MULTILINE)
SCREENS = {
    "loss": "check replication --version kafka-4.1 --set brokers=2",
    "inner-invariant": "check replication --version kafka-4.1 --set brokers=2 --set min_isr=2",
    "two-violations": "check kip101 --set replicas=2", "holds": "check kip320 --set replicas=2",
    "repaired": "check replication --version kafka-4.1-repaired --set brokers=2 --set min_isr=2",
    "unreached": "check kip320 --set replicas=1 --set max_leader_epoch=0 --engine plain",
    "cut-short": "check kip320 --set replicas=2 --max-states 100 --engine plain",
    "fingerprints": "check kip320 --set replicas=2 --compact",
    "own-model": f"check {MACHINES / 'mailbox.py'} --engine plain",
    "costs": "check 'watermark-propagation kip-392 in time'",
    "for-ever": "check 'leader-discovery kip-951 2 brokers, a new topic, in the end'",
    "catalogue": "catalogue kip101 kip279 watermark-propagation", "walks": "simulate kip101 --walks 2000 --workers 1",
    "walks-without": "simulate kip320 --walks 100 --workers 1",
    "induction-breaks": "prove kip320 --property leader-in-isr-or-none --set replicas=2 --no-cache --workers 1",
    "runs-of-steps": "prove kip320 --property strong-isr --set replicas=2 --depth 2 --no-cache --workers 1",
    "faults": "faults replication --property acknowledged-survives --set brokers=2 --grid min_isr=1..2",
    "ablation": "ablate kip320 --set replicas=2", "difference": "compare kip320 kip279 --set replicas=2",
    "no-difference": "compare kip320 kip320 --set replicas=1", "advice": "advise --replicas 3 --min-isr 2 --kafka 4.1",
}  # fmt: skip


TITLES = (": the shortest trace has ", ": a trace of ", ", in what clients see: ", "what happened to ")
"""Words in the line above a trace."""


def histories(*differences: Difference, protocol: str = "replication") -> HistoriesReport:
    bound, release = binding(protocol), Release("4.1.2", "kafka-4.1", Path(), Path())
    tally = Tally(5_106, 66_319, 98_099, aside=Counter({"a follower reads an older snapshot": 12}))
    found = {item.kind: item for item in differences}
    outcome = HistoriesOutcome(tally, found, Counter(list(found)), set(range(14_252)), seconds=38.7)
    constants = make_constants(bound.machine, "kafka-4.1", bound.small)
    return HistoriesReport(bound, release, constants, outcome, 5_807, 14_252)


def client(name: str, version: str) -> ClientReport:
    outcome = ClientOutcome(Installed(name, version), 2_400, 2_390, exercised_in=Counter(dict.fromkeys(NAMES, 300)))
    return ClientReport(name, outcome)


def deviating() -> ClientReport:
    found, refusal = client("librdkafka", "2.6.1"), Event("request", 2, "produce", 0, 0)
    news = Event("metadata", 1, "metadata", 1, 0, leader=1, epoch=4)
    events = [Event("moved", 0, value="controller-elects-leader 0 1"), news, refusal]
    broken = BrokenRule("newer-metadata-is-used", refusal, "produce goes to broker 0, and 1 leads in epoch 4")
    assert found.outcome is not None
    named = by_name("walk 951.8")
    assert named is not None
    found.outcome.failures = {broken.rule: [Failure(named, Play("producer", 1, events), broken, 3, 3)]}
    found.outcome.broken[broken.rule] = 1
    return found


def departures() -> HistoriesReport:
    actions = binding("replication").machine.actions
    rows = (("isr", "{0, 1, 2}", "{0, 1}"), ("partition_epoch", "2", "1"))
    return histories(*(Difference((Step(action, ()),), rows) for action in actions[:9]))


def audited(name: str) -> Callable[[Console], None]:
    return lambda console: print_screen(console, json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def compared(*runs: Comparison) -> Callable[[Console], None]:
    return lambda console: print_conform(console, ConformResult.of(*runs), verbose=False)


PAGES: dict[str, Callable[[Console], None]] = {
    "conformance": compared(histories()),
    "departures": compared(departures()),
    "one-client": compared(client("librdkafka", "2.6.1")),
    "client-deviates": compared(deviating()),
    "two-clients": compared(client("librdkafka", "2.6.1"), client("java", "4.1.2")),
    "audit": audited("audit"),
    "audit-without": audited("audit-without"),
}
"""Screens of commands that need Kafka, printed from stored results."""


def page(name: str, width: int = COLUMNS, *, colours: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=colours, color_system="256" if colours else None, highlight=False,
        markup=False, theme=theme(),
    )  # fmt: skip
    console.width = min(console.width, COLUMNS)
    PAGES[name](console)
    return file.getvalue()


def screen(command: str) -> str:
    words = shlex.split(command)
    fixed = ["--cross-check", "100"] if words[0] == "check" and "plain" not in words else []
    return TIME.sub("0.01 s", fencepost(*words, *fixed).stdout)


SEARCHED = ("loss", "inner-invariant", "repaired", "faults", "ablation", "for-ever")
"""Screens that need a search of seconds."""


@pytest.mark.xdist_group("screens")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in SEARCHED)) for name in (*SCREENS, *PAGES)]
)
def test_a_first_screen_is_as_it_was_looked_at(name: str) -> None:
    made = screen(SCREENS[name]) if name in SCREENS else page(name)
    assert made == (FOLDER / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", [*SCREENS, *PAGES])
def test_a_first_screen_fits_a_terminal(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    answer, _, trace = text.partition(next((title for title in TITLES if title in text), "no trace"))
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert answer.count("\n") <= LINES
    assert trace.count("\n") <= LINES
    if trace:
        assert " ".join(text.split()).startswith(" ".join(text.rsplit("\n\n", 1)[1].split()))


PRINTED: dict[str, Callable[[], object]] = {
    "two-violations": lambda: f.check("kip101", replicas=2, cross_check=100),
    "walks-without": lambda: f.simulate("kip320", walks=100, workers=1),
    "faults": lambda: f.faults(
        "replication", prop="acknowledged-survives", constants={"brokers": 2}, grid={"min_isr": [1, 2]}
    ),
    "catalogue": lambda: f.catalogue("kip101", "kip279", "watermark-propagation"),
    "departures": lambda: ConformResult.of(departures()),
    "audit": lambda: AuditResult.read(json.loads((FOLDER / "audit.json").read_text("utf-8"))),
}


@pytest.mark.xdist_group("screens")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in SEARCHED)) for name in PRINTED]
)
def test_python_prints_the_screen_without_its_hints(name: str) -> None:
    answer = PRINTED[name]()
    known = HINT.sub("", (FOLDER / f"{name}.txt").read_text("utf-8"))
    shown = TIME.sub("0.01 s", str(answer))
    assert known.startswith(shown)
    assert len(repr(answer)) < COLUMNS
    assert "\n" not in repr(answer)


def test_the_readme_shows_the_screen_of_a_loss() -> None:
    verdict, _, _, trace, _ = (FOLDER / "loss.txt").read_text("utf-8").split("\n\n")
    assert f"```\n{verdict}\n\n...\n\n{trace}\n```\n" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_is_readable_on_black_and_on_white(name: str) -> None:
    parts = [part / 255 for part in Color.parse(COLOURS[name]).get_truecolor()]
    linear = [part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert min(1.05 / (light + 0.05), (light + 0.05) / 0.05) > 3.5


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, command in SCREENS.items():
        (FOLDER / f"{name}.txt").write_text(screen(command), "utf-8")
    for name in PAGES:
        (FOLDER / f"{name}.txt").write_text(page(name), "utf-8")
    sys.stdout.write(f"wrote {len(SCREENS) + len(PAGES)} screens to {FOLDER}\n")


if __name__ == "__main__":
    write()
