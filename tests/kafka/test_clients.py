"""Histories played over sockets: our own client keeps the rules, its mutants break theirs, and nothing is left
behind."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fencepost.kafka.clients import install, wire
from fencepost.kafka.clients.history import APPLICATION, FOLLOWERS, Source, load, of_archive, settings, text_of
from fencepost.kafka.clients.install import Installed, install_client
from fencepost.kafka.clients.play import SLOW, Player, Times
from fencepost.kafka.clients.report import ClientPlan, Failure, conform_clients, run, shorten
from fencepost.kafka.clients.sessions import MUTANTS, OwnClient
from fencepost.kafka.clients.stories import SEQUENCES, STORIES, story
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import data_of, fencepost
from tests.unit.kafka.test_clients import history

pytest.importorskip("kio", reason="the scripted cluster needs kio (the extra `clients`)")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
OWN = "fencepost"
FORGETS = f"{OWN}/overlooks-truncation"
TRIES, ASKS = SEQUENCES["try"], SEQUENCES["ask"]
MORE = ("client-has-more 0", "client-has-more 0")
LOST_ANSWERS = history("client-is-idempotent", "answers-are-lost 0", *MORE, *TRIES * 2, "connections-end 0")
LOST = history("records-are-lost 0", "controller-elects-leader 0 1", consumer=1)
QUICK = Times(recover=1.0)
MOVED = ("controller-elects-leader 0 1", *(f"broker-learns {broker} 1" for broker in range(3)))
MISSED = ("controller-elects-leader 0 1", "broker-learns 0 1")
SERVED = story("preferred-replica-that-is-forgotten").history
STALE = ("controller-elects-leader 0 1", "broker-learns 0 1", *TRIES * 3)
"""The next leader has not learned yet that it leads: it refuses the validation."""


def broken(client: str, *histories: Any) -> set[str]:
    return set(run(install_client(client), histories, QUICK, most=0).broken)


def test_errors_have_the_numbers_of_kafka() -> None:
    from kio.schema.errors import ErrorCode

    named = {
        "offset_out_of_range": wire.OUT_OF_RANGE, "leader_not_available": wire.LEADER_NOT_AVAILABLE,
        "not_leader_or_follower": wire.NOT_LEADER, "unsupported_version": wire.UNSUPPORTED,
        "fenced_leader_epoch": wire.FENCED_EPOCH, "unknown_leader_epoch": wire.UNKNOWN_EPOCH,
        "unknown_topic_id": wire.UNKNOWN_ID,
    }  # fmt: skip
    assert {name: int(ErrorCode[name]) for name in named} == named


def test_our_own_client_keeps_the_rules() -> None:
    outcome = run(install_client(OWN), Source(settings(), seed=5).walks(32, 30))
    assert (outcome.histories, outcome.counted, dict(outcome.undone), dict(outcome.broken)) == (32, 32, {}, {})
    assert outcome.followed > outcome.wanted / 2


@pytest.mark.parametrize(
    ("mutant", "played"),
    [
        ("overlooks-truncation", LOST),
        ("cries-wolf-at-once", history(consumer=1)),
        ("cries-wolf-after-two-records", history(consumer=1)),
        ("cries-wolf-on-epoch--1", history("leader-is-unknown 0", *(*TRIES, *ASKS) * 3, consumer=1)),
        ("cries-wolf-on-a-retried-validation", history(*STALE, consumer=1)),
        ("takes-leaders-of-errors", history("topic-has-error 3", *MISSED, *(*TRIES, *ASKS) * 2)),
        ("trusts-a-failed-validation", history("validation-fails 0 -1", *MOVED, *TRIES * 3, consumer=1)),
        ("gives-up-on-a-dead-connection", history("connection-dies 0", *TRIES)),
        ("cries-wolf-on-a-retried-validation", history("validation-fails 0 -1", *MOVED, *TRIES * 3, consumer=1)),
        ("overlooks-the-preferred-replica", SERVED),
        ("flips-back-to-the-leader", SERVED),
        ("asks-the-follower-again", story("out-of-range-on-a-follower").history),
        ("lists-at-the-follower", story("list-offsets-of-a-follower").history),
        ("commits-nothing", story("stored-offset-without-an-epoch").history),
        ("forgets-committed-epochs", story("offset-committed-with-an-epoch").history),
        ("asks-admin-where-nobody-is", story("admin-of-a-leader-that-has-gone").history),
        ("moves-what-was-dropped", story("hint-for-a-topic-that-was-dropped").history),
        ("numbers-retries-anew", LOST_ANSWERS),
        ("forgets-its-numbers", LOST_ANSWERS),
        ("acknowledges-at-once", LOST_ANSWERS),
        ("sends-the-last-first", LOST_ANSWERS),
        ("dies-without-a-leader", history("leader-is-missing 0", *TRIES, *ASKS)),
        ("skips-validation", LOST),
        ("skips-a-record", history("client-has-more 0", consumer=1)),
        ("delivers-twice", history("client-has-more 0", consumer=1)),
        ("keeps-the-old-leader", history(*MOVED, hints=0)),
        ("gives-up", history("leader-is-missing 0", TRIES[0], "client-receives-response", "client-refreshes 0")),
    ],
)
def test_a_client_that_forgets_a_rule_is_caught(mutant: str, played: Any) -> None:
    assert MUTANTS[mutant] in broken(f"{OWN}/{mutant}", played)
    assert broken(OWN, played) == set()


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, 4])
def test_our_own_client_keeps_the_rules_in_many_walks(seed: int) -> None:
    """The harness blamed it in four of these walks, by mistakes of its own."""
    assert not run(install_client(OWN), Source(settings(), seed=seed).walks(1000, 30)).broken


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_is_caught(mutant: str) -> None:
    told = [story.history for story in STORIES if story.keeps and story.history.has(*FOLLOWERS, *APPLICATION)]
    histories = [LOST_ANSWERS, *of_archive(), *told, *Source(settings(), seed=951).walks(600, 30)]
    assert run(install_client(f"{OWN}/{mutant}"), histories, most=0).broken[MUTANTS[mutant]] > 0


def test_a_failure_is_kept_short_and_replays(tmp_path: Path) -> None:
    learns, lost = ("broker-learns 0 1",) * 3, ("records-are-lost 0", "controller-elects-leader 0 1")
    long, name = history("client-has-more 0", *learns, *lost, "client-has-more 0", consumer=1), FORGETS
    client = install_client(name)
    found = run(client, [long], QUICK, most=1).failures["truncation-is-noticed"][0]
    assert found.is_steady
    short = shorten(client, Failure(found.history, found.play, found.verdict), QUICK, 60)
    assert len(short.history.moves) < len(long.moves)
    file = tmp_path / "long.history"
    file.write_text(text_of(long))
    report = conform_clients([name], ClientPlan(files=(file,), output=tmp_path), lambda _: None)[0]
    kept = report.traces["truncation-is-noticed"]
    assert broken(name, load(kept)) >= {"truncation-is-noticed"}
    shown = kept.with_suffix(".md").read_text()
    assert "sequenceDiagram" in shown
    assert f'To replay it, call `fencepost.conform_clients("{name}", traces="{kept.name}")`' in shown


def conformed(*more: str, client: str = OWN) -> Result:
    return fencepost("conform", "leader-discovery", "--client", client, *more)


def test_the_command_prints_a_table_and_data(tmp_path: Path) -> None:
    shown = conformed("--walks", "8", "--quiet")
    assert (shown.exit_code, "recovers" in shown.stdout) == (0, True)
    data = data_of(conformed("--walks", "8", "--json", "--quiet"))
    assert (data["client"], data["histories"], data["verdict"]) == (OWN, 8, "conforms")
    assert sum(row["broken"] for row in data["rules"]) == 0


def test_a_story_shows_its_defect_each_time_that_it_is_played() -> None:
    name = "idle-consumer-forgets-its-epoch"
    kept, broken = (conformed("--story", name, "--quiet", client=client) for client in (OWN, FORGETS))
    assert (kept.exit_code, broken.exit_code) == (0, 1)
    told = " ".join(broken.stdout.split())
    assert f"truncation-is-noticed, in {name} (recurred in each of 3 replays):" in told


def test_what_is_missing_is_said_and_the_others_play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    found = conformed("--client", "franz-go", "--client", "java", "--walks", "4")
    assert found.exit_code == 3
    assert found.stderr.count("`go` was not found") == 1
    assert found.stderr.count("(`mvn`) was not found") == 1
    assert "fencepost conforms: " in found.stdout


def test_without_kio_there_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    wire.kio.cache_clear()
    monkeypatch.setitem(sys.modules, "kio.serial", None)
    found = conformed("--walks", "4")
    wire.kio.cache_clear()
    assert (found.exit_code, found.stdout) == (2, "")
    assert "run `pip install 'fencepost[clients]'`" in found.stderr


def test_a_driver_that_ends_before_it_is_ready_leaves_the_others_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Installed("mortal", "1", (sys.executable, "-c", ""))
    monkeypatch.setitem(install.NEWEST, "mortal", "1")
    monkeypatch.setattr(
        "fencepost.kafka.clients.report.install_client",
        lambda asked: ends if asked == "mortal" else install_client(asked),
    )
    reports = conform_clients(["mortal", OWN], ClientPlan(walks=2), lambda _: None)
    assert "ended before it was ready" in reports[0].missing
    assert reports[1].verdict == "conforms"


def test_a_driver_that_does_not_start_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.kafka.clients.sessions.START", 0.2)
    client = Installed("silent", "1", (sys.executable, "-c", "import time; time.sleep(60)"))
    with pytest.raises(UsageError, match="did not start within"):
        run(client, [LOST])


def test_a_process_that_dies_is_started_again_and_its_death_is_a_verdict() -> None:
    command = (sys.executable, "-c", 'print(\'{"event": "ready"}\', flush=True); input()')
    outcome = run(Installed("mortal", "1", command), [LOST, LOST], QUICK)
    died = {"the client's process crashed (exit 0)": 2}
    assert (outcome.histories, dict(outcome.begun_again), dict(outcome.undone)) == (2, died, {})
    assert (dict(outcome.broken), outcome.verdict) == ({"stays-alive": 2}, "differs")


def test_histories_that_a_process_took_along_are_judged_by_the_next(tmp_path: Path) -> None:
    own = Path(install.__file__).parent / "drivers" / "python_client.py"
    once = f"import pathlib, runpy; first = pathlib.Path({str(tmp_path / 'began')!r})\n"
    once += (
        'if not first.exists(): first.touch(); print(\'{"event": '
        '"ready"}\', flush=True); input(); raise SystemExit(9)\n'
    )
    once += "import sys; sys.modules['confluent_kafka'] = None\n"
    once += f"sys.argv = [{str(own)!r}, 'librdkafka']; runpy.run_path(sys.argv[0], run_name='__main__')"
    outcome = run(Installed("mortal", "1", (sys.executable, "-c", once)), [LOST], QUICK)
    assert dict(outcome.begun_again) == {"the client's process crashed (exit 9)": 1}
    assert dict(outcome.undone) == {
        "the client was not created: ModuleNotFoundError: import of confluent_kafka halted; None in sys.modules": 1
    }


def test_a_slow_broker_says_late_where_an_epoch_ends() -> None:
    moves = ("broker-is-slow 1", "controller-elects-leader 0 1", "broker-learns 0 1", "broker-learns 1 1")
    tries = ("client-sends-request 0", "broker-answers-request", "client-receives-response") * 3
    play = asyncio.run(Player(history(*moves, *tries, consumer=1), OwnClient(""), QUICK).run())
    asked = next(item.at for item in play.events if item.api == "validate" and item.broker == 1)
    read = next(item.at for item in play.events if item.api == "fetch" and item.broker == 1 and item.at > asked)
    assert read - asked >= SLOW


@pytest.mark.long
@pytest.mark.parametrize("asked", install.NEWEST)
def test_each_client_plays(asked: str) -> None:
    outcome = run(install_client(asked), Source(settings(), seed=5).walks(32, 30), most=0)
    assert (outcome.histories, outcome.counted, dict(outcome.undone)) == (32, 32, {})


@pytest.mark.long
@pytest.mark.parametrize("story", STORIES, ids=[story.name for story in STORIES])
def test_a_defect_shows_where_it_is_and_not_where_it_is_not(story: Any) -> None:
    histories = [story.history] * story.plays
    for asked in story.breaks:
        outcome = run(install_client(asked), histories, most=0)
        assert outcome.deaths or outcome.broken.keys() & set(story.rules), asked
    for asked in story.keeps:
        outcome = run(install_client(asked), histories)
        steady = {rule for rule, items in outcome.failures.items() if any(item.is_steady for item in items)}
        assert not outcome.deaths, asked
        assert not steady & set(story.rules), asked
