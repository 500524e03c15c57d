"""Clients are judged by rules that are also in the model; histories are stored as files; unplayable ones are refused in
one message.
"""

import json
import socket
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fencepost.invariants.protocols import protocol
from fencepost.kafka.clients import history as histories
from fencepost.kafka.clients import install as install_module
from fencepost.kafka.clients import outside, report, wire
from fencepost.kafka.clients.duties import NAMES, RULES
from fencepost.kafka.clients.events import NOBODY, SLACK, Event, Play
from fencepost.kafka.clients.history import DEPTH, History, Move, Source, by_name, load, of_archive, settings, text_of
from fencepost.kafka.clients.install import Installed, ends_of, parse_client
from fencepost.kafka.clients.outside import MISTAKES, BrokersReport, Said, questions
from fencepost.kafka.clients.report import ClientOutcome, ClientPlan, Failure
from fencepost.kafka.clients.rules import BrokenRule, Judge, beliefs_of
from fencepost.kafka.clients.sessions import MUTANTS
from fencepost.kafka.clients.stories import STORIES
from fencepost.kafka.clients.telling import as_story
from fencepost.kafka.clients.world import CLUSTER_ACTIONS, Record, World
from fencepost.model.clients.discovery.brokers import is_hinted, outcome_of
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata
from fencepost.model.clients.discovery.state import Outcome
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import refused

NUMBERS = {
    Outcome.SUCCESS: wire.NONE, Outcome.NOT_LEADER: wire.NOT_LEADER, Outcome.FENCED_EPOCH: wire.FENCED_EPOCH,
    Outcome.UNKNOWN_EPOCH: wire.UNKNOWN_EPOCH,
}  # fmt: skip
OWN = {"brokers": 3, "partitions": 1, "changes": 2}


def history(*moves: str, **constants: int) -> History:
    parts = (text.split() for text in moves)
    made = protocol("leader-discovery").machine.set_constants({**OWN, **constants})
    return History(made, tuple(Move(name.replace("-", "_"), tuple(map(int, args))) for name, *args in parts), "test")


# -- the cluster


def test_a_broker_answers_as_the_model_says() -> None:
    compared = 0
    for one in Source(settings(), seed=7, besides=0, lag=0).walks(24, 30):
        world = World(one)
        for move in one.moves:
            if move.name not in CLUSTER_ACTIONS:
                continue
            world.apply(move)
            for broker in range(world.c.brokers):
                for epoch in (NOBODY, 0, 1, 2):
                    answer = world.refused(broker, 0, epoch if epoch == NOBODY else 2 * epoch, None)
                    assert answer.error == NUMBERS[outcome_of(world.s, broker, 0, epoch)]
                    assert (answer.leader != NOBODY) == is_hinted(world.s, world.c, broker, 0, epoch)
                    compared += 1
    assert compared > 500


def test_a_log_that_is_cut_has_other_records_where_the_lost_ones_were() -> None:
    world = World(history())
    first = [world.write(0), world.write(0)]
    assert world.apply(Move("records_are_lost", (0,))) == []
    assert world.apply(Move("controller_elects_leader", (0, 1))) == [(0, 1)]
    log = world.logs[0, 0, 1]
    assert [item.value for item in log[:1]] == first[:1]
    assert len(log) == 3
    assert first[1] not in {item.value for item in log}
    assert world.end_of(log, 0) == (0, 1)


def test_at_rest_every_partition_has_a_leader_that_all_know() -> None:
    world = World(history())
    world.apply(Move("leader_is_missing", (0,)))
    assert world.view(0, 0).leader == NOBODY
    before = world.view(0, 0).wire_epoch
    world.settle()
    assert {world.outcome(broker, 0, NOBODY) for broker in range(3)} == {wire.NONE, wire.NOT_LEADER}
    assert world.view(0, 0).wire_epoch > before


# -- the rules


def told(kind: Any, at: float, leader: int, epoch: int) -> Event:
    return Event(kind, at, "metadata", 0, 0, leader=leader, epoch=epoch, named=kind == "hint")


def sent(at: float, broker: int, epoch: int = NOBODY, api: str = "produce", **more: Any) -> Event:
    return Event("request", at, api, broker, 0, epoch=epoch, since=at - 0.001, **more)


def judged(*events: Event, role: str = "producer") -> set[str]:
    play = Play(role, 1, list(events), backoff=0.03)
    return {item.rule for item in Judge(play).broken}


@pytest.mark.parametrize("epoch", range(4))
@pytest.mark.parametrize("leader", range(2))
def test_news_is_believed_as_the_model_says(epoch: int, leader: int) -> None:
    for kind, accepts in (("metadata", accepts_metadata(2, epoch, 0)), ("hint", accepts_hint(0, 2, 0, epoch, leader))):
        play = Play("producer", 1, [told("metadata", 0, 0, 2), told(kind, 1, leader, epoch)])
        assert (len(beliefs_of(play)[0].trail) == 2) is bool(accepts)


def test_metadata_of_another_topic_without_a_leader_may_be_used_or_not() -> None:
    """The client may forget the old leader, believe a later answer about the old topic, or notice nothing."""
    start, other = told("metadata", 0, 0, 4), Event("metadata", 1, "metadata", 0, 0, 1, NOBODY)
    assert judged(start, other, sent(2, 0)) == judged(start, other, told("metadata", 2, 1, 2), sent(3, 1)) == set()
    assert judged(start, other, sent(2, 1)) == {"no-leader-no-request"}
    assert judged(start, told("metadata", 2, 1, 2), sent(3, 1)) == {"older-metadata-is-ignored"}


def test_each_rule_about_leaders_is_broken_by_a_request_to_the_wrong_one() -> None:
    start = told("metadata", 0, 0, 2)
    assert judged(start, told("metadata", 1, 1, 4), sent(2, 0)) == {"newer-metadata-is-used"}
    assert judged(start, told("hint", 1, 1, 4), sent(2, 0)) == {"newer-hint-is-used"}
    assert judged(start, told("metadata", 1, 1, 0), sent(2, 1)) == {"older-metadata-is-ignored"}
    assert judged(start, told("hint", 1, 1, 0), sent(2, 1)) == {"older-hint-is-ignored"}
    assert judged(start, told("metadata", 1, NOBODY, 3), sent(2, 0)) == {"no-leader-no-request"}
    failed = Event("metadata", 1, "metadata", 0, 0, leader=1, epoch=4, error="3")
    assert judged(start, failed, sent(2, 1)) == {"errors-name-no-leader"}
    assert judged(start, sent(2, 2)) == {"only-to-named-leaders"}
    assert judged(start, told("metadata", 1, 1, 4), sent(2, 1)) == set()


def test_a_request_that_was_under_way_breaks_nothing() -> None:
    start, news = told("metadata", 0, 0, 2), told("metadata", 1, 1, 4)
    assert judged(start, news, sent(1 + SLACK / 2, 0)) == set()
    assert judged(start, news, sent(1.01, 1), sent(1.02, 0)) == {"newer-metadata-is-used"}, "it has acted on the news"


def test_an_epoch_that_was_used_is_the_least_from_then_on() -> None:
    start = told("metadata", 0, 0, 4)
    older = [sent(1, 0, 4, "fetch"), told("metadata", 2, 0, 2), sent(3, 0, 2, "fetch")]
    assert "epochs-never-fall" in judged(start, *older, role="consumer")
    forgets = [sent(1, 0, 4, "fetch"), told("metadata", 2, NOBODY, NOBODY), sent(3, 0, NOBODY, "fetch")]
    assert "epoch-is-not-forgotten" in judged(start, *forgets, role="consumer")


def test_a_retry_waits_unless_there_is_news() -> None:
    def retried(*events: Event, at: float = 1.002, broker: int = 0, value: str = "w") -> set[str]:
        first = Event("request", 0.9, "produce", 0, 0, since=0.8, value="w")
        refused = Event("answer", 1, "produce", 0, 0, error="6")
        again = Event("request", at, "produce", broker, 0, since=1, value=value)
        return judged(told("metadata", 0, 0, 2), first, refused, *events, again)

    assert retried() == {"retry-waits-for-the-backoff"}
    assert retried(told("hint", 1, 1, 4), broker=1) == set()
    assert retried(at=1.04) == set()
    assert retried(value="x") == set(), "another batch"


def test_errors_without_news_make_the_client_ask() -> None:
    start, events = told("metadata", 0, 0, 2), []
    for place in range(5):
        events += [sent(1 + place, 0), Event("answer", 1.5 + place, "produce", 0, 0, error="6")]
    assert judged(start, *events) == {"error-asks-for-metadata"}
    asked = Event("request", 1.6, "metadata", 0, since=1.5)
    assert judged(start, *events[:2], asked, *events[2:]) == set()


def read(at: float, offset: int, value: str) -> Event:
    return Event("delivered", at, partition=0, offset=offset, value=value)


def records(log: list[str], *events: Event) -> set[str]:
    return {item.rule for item in Judge(Play("consumer", 1, list(events), logs={(0, 0): log})).broken}


def test_records_are_read_once_and_all() -> None:
    log = ["a", "b", "c"]
    assert records(log, read(1, 0, "a"), read(2, 2, "c")) == {"no-record-is-skipped"}
    assert records(log, read(1, 0, "a"), read(2, 1, "b"), read(3, 1, "b")) == {"no-record-is-delivered-twice"}
    first, gone, last = read(1, 0, "a"), read(2, 1, "x"), read(4, 2, "c")
    assert records(log, first, gone, last) == {"truncation-is-noticed"}
    assert records(log, first, gone, Event("truncated", 3, partition=0, happened=True), last) == set()
    for other in (Event("truncated", 3, partition=0), Event("reported", 3, partition=0)):
        assert "truncation-is-noticed" in records(log, first, gone, other, last), "it excuses nothing"


def test_a_report_of_a_truncation_is_true_or_breaks_a_rule() -> None:
    assert records(["a"], read(1, 0, "a"), Event("truncated", 2, partition=0)) == {"reports-are-true"}
    world = World(history())
    values = [world.write(0), world.write(0)]
    assert not any(world.is_lost(0, 0, offset, 0) for offset, _ in enumerate(values))
    world.apply(Move("records_are_lost", (0,)))
    world.apply(Move("controller_elects_leader", (0, 1)))
    assert [world.is_lost(0, 0, offset, 0) for offset, _ in enumerate(values)] == [False, True]


def test_a_death_is_a_verdict_of_its_own_and_the_only_one() -> None:
    died = Event("died", 2, error="the client's process crashed (SIGSEGV)")
    assert records(["a", "b"], read(1, 1, "b"), died) == {"stays-alive"}


def test_a_read_from_a_new_epoch_needs_a_question_first() -> None:
    first = [sent(1, 0, 0, "fetch"), Event("answer", 1.1, "fetch", 0, 0, epoch=0, offset=0)]
    second = [sent(3, 0, 2, "fetch"), Event("answer", 3.1, "fetch", 0, 0, epoch=2, offset=1)]
    start = [told("metadata", 0, 0, 0), *first, told("metadata", 2, 0, 2)]
    assert judged(*start, *second, role="consumer") == {"validates-before-delivering"}
    asked = sent(2.5, 0, 2, "validate", fetched=0)
    assert judged(*start, asked, *second, role="consumer") == set()
    failed = Event("answer", 2.6, "validate", 0, 0, error="75")
    assert judged(*start, asked, failed, *second, role="consumer") == {"validates-before-delivering"}


def test_what_was_given_to_the_client_is_done_in_the_end() -> None:
    wanted = [Event("written", 1, partition=0, value="w"), Event("settled", 2)]
    logs: dict[tuple[int, int], list[str]] = {(0, 0): []}
    assert {item.rule for item in Judge(Play("producer", 1, wanted, logs=logs)).broken} == {"recovers"}
    done = Play("producer", 1, [*wanted, Event("acked", 3, partition=0, value="w")], logs=logs)
    assert Judge(done).broken == []
    assert {item.rule for item in Judge(Play("producer", 1, wanted, logs={(0, 1): []})).broken} == {"finds-a-new-topic"}


def test_a_leader_recognizes_the_batches_of_a_producer_as_the_model_says() -> None:
    world = World(history())
    for sequence in (0, 1):
        assert world.produce(0, 0, [f"w{sequence}"], wire.Numbers(1, 0, sequence)).base == sequence
    cases = [((1, 0, 0), 0, 0), ((1, 0, 3), wire.OUT_OF_ORDER, NOBODY), ((1, 1, 1), wire.OUT_OF_ORDER, NOBODY)]
    cases += [((7, 0, 5), 0, NOBODY), ((1, 1, 0), 0, NOBODY)]
    assert [(numbers, *world.recognize(0, 0, wire.Numbers(*numbers))) for numbers, *_ in cases] == cases
    world.apply(Move("broker_keeps_last_batch", (0,)))
    found = [world.recognize(0, 0, wire.Numbers(1, 0, sequence)) for sequence in (0, 1)]
    assert found == [(wire.OUT_OF_ORDER, NOBODY), (wire.NONE, 1)]
    world.apply(Move("producers_expire"))
    world.apply(Move("sequence_is_refused", (0,)))
    found = [world.recognize(0, 0, wire.Numbers(1, 0, 4)) for _ in range(2)]
    assert found == [(wire.OUT_OF_ORDER, NOBODY), (wire.NONE, NOBODY)]


@pytest.mark.parametrize(
    ("log", "sequences", "rules"),
    [
        ("w1 w2", (0, 0), set()),
        ("w1 w2", (0, 1), {"retries-keep-their-sequence"}),
        ("w1 w2 w1", (0, 0), {"no-record-is-written-twice"}),
        ("w2 w1", (0, 0), {"records-are-written-in-order"}),
        ("w2", (0, 0), {"acknowledged-records-are-written"}),
    ],
)
def test_what_an_idempotent_producer_writes_is_judged(log: str, sequences: tuple[int, int], rules: set[str]) -> None:
    events = [Event("written", 0, partition=0, value=value) for value in ("w1", "w2")]
    events += [sent(1 + place, 0, value="w1", producer="1/0", sequence=one) for place, one in enumerate(sequences)]
    events += [Event("acked", 4, partition=0, value=value) for value in ("w1", "w2")]
    play = Play("producer", 1, events, logs={(0, 0): log.split()}, is_idempotent=True)
    assert {item.rule for item in Judge(play).broken} == rules


def test_a_deviation_is_a_story() -> None:
    start, news, late = told("metadata", 0, 0, 2), told("metadata", 2, 1, 4), sent(3, 0)
    moves = ("controller-elects-leader 0 1", "controller-elects-leader 1 0", "broker-learns 0 1", "broker-learns 1 1")
    events = [start, *(Event("moved", 1, value=text) for text in moves), news, sent(2.5, 1), late, sent(4, 1)]
    play = Play("producer", 2, events)
    story = as_story(play, next(item for item in Judge(play).broken))
    assert story.sentence == RULES[NAMES.index("newer-metadata-is-used")].sentence
    heard = [f"learns from broker 0, through metadata, that broker {leader} is the leader" for leader in (0, 1)]
    assert list(story.lines()) == [
        "the cluster: broker 1 becomes the leader of partition 0; brokers 0, 1 learn of metadata change 1",
        f"the client: {heard[0]} in epoch 2; {heard[1]} in epoch 4; {'; '.join(story.client[2:])}",
        f"KIP-320: {story.sentence}",
        "cost: Requests go to a broker that is not the leader: writes time out, and reads make no progress.",
    ]
    stuck = Play("producer", 1, [Event("written", 0, partition=0, value="w"), *events[-2:]] + [late] * 8)
    assert as_story(stuck, BrokenRule("recovers", stuck.events[0], "w was lost")).client == (
        *("sends produce to broker 0 (9 times)", "sends produce to broker 1", "w was lost"),
    )


def test_a_range_of_releases_is_bisected(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule is broken from release 5 on, another up to 2, one is flaky, one broken throughout; 3 is missing."""
    tried = []

    def install(asked: str) -> Installed:
        tried.append(asked)
        if asked == "java==1.3":
            raise UsageError("no such release")
        return Installed(*parse_client(asked))

    def run(client: Installed, histories: Iterable[History], **limits: Any) -> ClientOutcome:
        outcome, minor = ClientOutcome(client, counted=1), int(client.version.split(".")[1])
        broken = {NAMES[0]: minor >= 5, NAMES[1]: minor <= 2, NAMES[2]: minor == 0, NAMES[3]: True}
        for rule in (rule for rule, is_broken in broken.items() if is_broken):
            verdict = BrokenRule(rule, Event("x", 0.0), "why")
            failure = Failure(history(), Play("consumer", 1), verdict, 2 + (rule != NAMES[2]), 3)
            outcome.failures[rule], outcome.broken[rule] = [failure], 1
        return outcome

    monkeypatch.setattr(report, "install_client", install)
    monkeypatch.setattr(report, "run", run)
    monkeypatch.setattr(report, "kio", lambda: None)
    monkeypatch.setattr(install_module, "_registered", lambda _: [f"1.{n}" for n in range(12)] + ["1.5rc1"])
    first, last = report.conform_clients(["java==1.0..1.9"], ClientPlan(stories=("rolling-upgrade",)), lambda _: None)
    assert [str(item) for item in last.changes] == [
        f"{NAMES[1]}: broken in java==1.2, kept in java==1.4; not installed: java==1.3",
        f"{NAMES[0]}: kept in java==1.4, broken in java==1.5",
    ]
    assert (first.changes, last.data()["changes"][1]["after"]) == ([], "java==1.5")
    assert len(tried) == len(set(tried)) <= 7, "each release is played once"
    ends = ("1.0", "1.9")
    monkeypatch.setattr(
        report, "run", lambda one, *_, **__: replace(run(one, ()), is_interrupted=one.version not in ends)
    )
    last = report.conform_clients(["java==1.0..1.9"], ClientPlan(stories=("rolling-upgrade",)), lambda _: None)[1]
    assert last.changes == [], "what an interrupted release keeps is not known"


@pytest.mark.parametrize(
    "asked", ["java==4.1.0..4.0.2", "java==..4.0.2", "java==4.0.2..", "sarama==a..b", "fencepost==1..2"]
)
def test_a_range_that_is_none_is_refused(asked: str) -> None:
    with pytest.raises(UsageError, match=r"an earlier and a later release|expected a version, such as"):
        ends_of(asked)
    assert ends_of("java==3.9.2..4.0.2") == ("java==3.9.2", "java==4.0.2")


# -- histories


@pytest.mark.long
def test_walks_and_covers_are_the_same_each_time() -> None:
    small = ({"brokers": 2, "partitions": 1, "changes": 1, "elections": 1},)
    assert [one.key for one in Source(small).cover()] == [one.key for one in Source(small).cover()]
    first = [str(one.moves) for one in Source(settings(), seed=3).walks(16, 20)]
    assert first == [str(one.moves) for one in Source(settings(), seed=3).walks(16, 20)]
    assert any(name in text for name in histories.BESIDES for text in first)


def test_a_history_has_the_name_that_finds_it() -> None:
    names = ("walk 951.5", "cover 0.7", "errors 951.5", "producer 1.3")
    found = [by_name(name) for name in names]
    assert [one.name if one else "" for one in found] == list(names)
    assert found[0] == list(Source(settings(), seed=951, errors=0).walks(9, DEPTH))[5]
    assert None not in found
    assert set(found[0].moves) < set(found[2].moves), "the same walk, with errors"
    assert by_name("walk 951") is by_name("rolling-upgrade") is None
    with pytest.raises(UsageError, match="expected one below 100,000, because finding a walk"):
        by_name("walk 951.100000")


def test_an_address_without_a_broker_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kio")
    monkeypatch.setattr(outside, "FIRST_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UsageError, match="no Kafka broker answers"):
        outside.Brokers(f"127.0.0.1:{server.getsockname()[1]}", anywhere=False)


MOVES = '{"format": 1, "protocol": "leader-discovery", "constants": {}, "moves": [%s]}'


def test_what_is_decided_is_said(tmp_path: Path) -> None:
    play, event = Play("producer", 1), Event("x", 0.0)
    file = tmp_path / "one.history"
    file.write_text(text_of(history("leader-is-missing 0"), rule=NAMES[0]))
    plays = list(ClientPlan(files=(file,)).histories())
    assert [item.rule for item in plays] == [NAMES[0]] * 3
    found = ClientOutcome(Installed("java", "1"), counted=1, recorded={("one", NAMES[0]): [False, True, None]})
    assert found.verdict == "conforms"
    said = next(found.claims())
    assert said.endswith(f"of {NAMES[0]}: violated in 1 of 3 plays; the rule did not apply in 1")
    found.recorded = {("one", NAMES[0]): [None]}
    assert found.why_undetermined == "a recorded rule never applied"
    found.recorded, found.failures = {}, {NAMES[0]: [Failure(plays[0], play, BrokenRule(NAMES[0], event, "why"))]}
    assert (found.verdict, found.why_undetermined) == ("undetermined", "a violation was not replayed")
    found.failures[NAMES[0]][0].plays = 3
    assert found.why_undetermined == "a violation did not recur in each replay"
    found.complete = False
    assert found.why_undetermined.startswith("the time limit was reached, and ")
    found.failures[NAMES[0]][0].again = 3
    assert found.verdict == "differs"


def test_an_interruption_keeps_what_was_played(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(client: Installed, *_: Any, **__: Any) -> ClientOutcome:
        return ClientOutcome(client, 7, complete=False, is_interrupted=client.version == "2")

    monkeypatch.setattr(report, "install_client", lambda asked: Installed(*parse_client(asked)))
    monkeypatch.setattr(report, "run", interrupt)
    monkeypatch.setattr(report, "kio", lambda: None)
    found = report.conform_clients(["java==1", "java==2", "java==2", "java==3"], ClientPlan(walks=1), lambda _: None)
    assert [item.outcome.histories if item.outcome else item.missing for item in found] == [
        7, 7, "not run, because the run was interrupted",
    ]  # fmt: skip
    assert found[1].why_undetermined.startswith("the run was interrupted")
    with pytest.raises(UsageError, match="exclude each other"):
        report.conform_clients(["java==1"], ClientPlan(walks=1, stories=("rolling-upgrade",)), lambda _: None)


def test_an_older_answer_about_a_recreated_topic_has_its_topic_id() -> None:
    world = World(history("metadata-is-older 0", recreations=1))
    for move in (Move("topic_is_recreated", (0, 1)), Move("broker_learns", (0, 1))):
        world.apply(move)
    now = world.metadata(0)[1][0][1]
    world.apply(Move("metadata_is_older", (0,)))
    assert (now.topic, world.metadata(0)[1][0][1].topic) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", MOVES % '"nothing-like-it 1"', MOVES % '"broker-learns x"', MOVES % "", MOVES % "5"),
        *(MOVES % '"broker-learns 9 9"', MOVES % '"controller-elects-leader"', MOVES % '"partition-has-error 0 99999"'),
        (MOVES % '"client-sends-request 0"').replace("1", "2", 1),
        (MOVES % '"client-sends-request 0"').replace("leader-discovery", "replication"),
    ],
)
def test_a_file_that_is_no_history_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.history"
    path.write_text(text)
    with pytest.raises(UsageError, match="cannot be read as a history"):
        load(path)


def test_a_story_is_made_of_moves_that_there_are_and_there_is_a_mutant_for_each_rule() -> None:
    known = {item.name for item in protocol("leader-discovery").machine.actions}
    for other in (histories.BESIDES, histories.ERRORS, histories.FOLLOWERS, histories.PRODUCERS, histories.APPLICATION):
        known |= {*other}
    assert {move.name for story in STORIES for move in story.history.moves} <= known
    assert {rule for story in STORIES for rule in story.rules} <= set(NAMES) == set(MUTANTS.values())


def test_a_diagram_names_who_said_what() -> None:
    last = sent(2, 1, 4, "fetch", offset=3)
    play = Play("consumer", 1, [told("metadata", 1, 1, 4), last, sent(3, 0)])
    answer, asked = histories.diagram(play, last).splitlines()[-2:]
    assert answer == "  b0-->>client: metadata: broker 1 is the leader of 0, epoch 4"
    assert asked == "  client->>b1: fetch of 0 from 3, epoch 4"


def test_an_event_is_short_json() -> None:
    assert json.loads(json.dumps(sent(1, 2).data())) == {
        "kind": "request", "at": 1, "api": "produce", "broker": 2, "partition": 0, "since": 0.999,
    }  # fmt: skip


# -- the command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("brokers",), "`fencepost conform brokers --bootstrap-server HOST:PORT`"),
        (("kip320", "--bootstrap-server", "127.0.0.1:1"), "`fencepost conform brokers --bootstrap-server HOST:PORT`"),
        (("brokers", "--bootstrap-server", "127.0.0.1:1", "--walks", "4"), "leave out the other options"),
        (("brokers", "--bootstrap-server", "nowhere"), "write HOST:PORT"),
        (("brokers", "--bootstrap-server", "192.0.2.1:9092"), "is not on this machine"),
        (("brokers", "--bootstrap-server", "127.0.0.1:1"), "no Kafka broker answers"),
    ],
)
def test_what_cannot_be_asked_of_brokers_is_one_message(words: tuple[str, ...], said: str) -> None:
    if said == "no Kafka broker answers":
        pytest.importorskip("kio")
    message = refused("conform", *words)
    assert said in message
    assert "Traceback" not in message


class Ideal:
    """A leader and a follower that answer like the model; subclasses differ."""

    def __init__(self) -> None:
        self.epoch, self.log, self.racks = 0, [], ["a"]
        self.offered = {wire.FETCH: 17, wire.PRODUCE: 12}

    def partition(self, **_: Any) -> Any:
        return SimpleNamespace(leader_id=self.epoch % 2, leader_epoch=self.epoch, replica_nodes=[0, 1])

    def write(self, _: int) -> None:
        self.log += [Record(self.epoch, "r")] * 2

    def move(self, _: Any) -> None:
        self.epoch += 1

    def produce(self, *_: Any) -> Any:
        row = SimpleNamespace(error_code=wire.NOT_LEADER, current_leader=self.hint())
        return SimpleNamespace(responses=[SimpleNamespace(partition_responses=[row])])

    def hint(self) -> Any:
        return SimpleNamespace(leader_id=self.epoch % 2, leader_epoch=self.epoch)

    def end_of(self, broker: int, epoch: int, asked: int) -> Said:
        if broker != self.epoch % 2 or epoch != self.epoch:
            return Said(75 if epoch > self.epoch else 74 if epoch < self.epoch else wire.NOT_LEADER)
        return Said(0, *World.end_of(self.log, asked)) if asked <= self.epoch else Said(0)

    def fetch(self, broker: int, offset: int, epoch: int, fetched: int = NOBODY, **_: Any) -> Any:
        return self.fetch_all(broker, offset, epoch, fetched).responses[0].partitions[0]

    def fetch_all(self, broker: int, offset: int, epoch: int, fetched: int = NOBODY, **_: Any) -> Any:
        error = 75 if epoch > self.epoch else 74 if epoch < self.epoch else 0 if 0 <= offset <= len(self.log) else 1
        end = World.end_of(self.log, fetched)
        is_other = not error and fetched != NOBODY and (end[0] < fetched or end[1] < offset)
        other = SimpleNamespace(epoch=end[0] if is_other else NOBODY, end_offset=end[1] if is_other else NOBODY)
        later = list(enumerate(self.log))[max(0, offset) :]
        data = b"".join(wire.batch(place, one.epoch, one.value) for place, one in later)
        row = {"error_code": error, "diverging_epoch": other, "current_leader": self.hint(), "records": data}
        row["preferred_read_replica"] = 1 - self.epoch % 2 if broker == self.epoch % 2 and not error else NOBODY
        topic = SimpleNamespace(partitions=[SimpleNamespace(**row)])
        return SimpleNamespace(responses=[topic], session_id=7)


class OldSnapshot(Ideal):
    """A broker that answers from a snapshot without its last records (AutoMQ#2863)."""

    def end_of(self, broker: int, epoch: int, asked: int) -> Said:
        found = super().end_of(broker, epoch, asked)
        return found._replace(second=min(found.second, len(self.log) - 2)) if not found.error else found


def test_brokers_are_judged_by_the_model_and_each_planted_mistake_is_noticed() -> None:
    pytest.importorskip("kio")
    report = BrokersReport("ideal", list(questions(cast(Any, Ideal()))), "t", "error 73")
    assert list(report.summary())[-1] == "topic t was created and still exists: error 73"
    assert report.verdict == "conforms"
    assert all(map(report.seen, MISTAKES))
    old = BrokersReport("old", list(questions(cast(Any, OldSnapshot()))))
    assert {item.rule for item in old.broken} == {"epochs-end-where-they-do"}


@pytest.mark.long
def test_every_history_that_is_played_is_one_that_a_file_may_have() -> None:
    covers, drawn = Source(histories.COVERED).cover(), Source(settings(), 7).walks(300, DEPTH)
    produced = histories.producer_walks(50, DEPTH, 7)
    for played in (*(story.history for story in STORIES), *of_archive(), *covers, *drawn, *produced):
        histories.require_possible(played)
