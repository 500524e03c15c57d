"""Histories of the client models, step by step, that no single property covers."""

import pytest
from fencepost.model.clients.tokens.store import store_latest

from tests.helpers.stories import Story


def refresh(story: Story, broker: int) -> None:
    """The client asks a broker for metadata and applies the answer."""
    story.do("client-refreshes", broker=broker).do("broker-answers-refresh").do("client-applies-metadata")


def fail(story: Story, broker: int) -> None:
    """The client sends to a broker, which answers with an error."""
    story.do("client-sends-request", broker=broker).do("broker-answers-request").do("client-receives-response")


def test_old_metadata_brings_a_deleted_topic_back_since_topic_ids_have_no_order() -> None:
    story = Story("leader-discovery", brokers=3, changes=3, recreations=1, hints=0, skips_backoff=2)
    story.do("controller-elects-leader", partition=0, leader=1).do("broker-learns", broker=0, image=1)
    fail(story, 0)
    story.do("topic-is-recreated", partition=0, leader=1).do("broker-learns", broker=1, image=2)
    refresh(story, 1)
    assert (story.state.known[0].topic, story.state.known[0].leader, story.state.known[0].epoch) == (1, 1, 0)
    story.play("controller-elects-leader 0 2; broker-learns 1 3; backoff-ends 0")
    fail(story, 1)
    refresh(story, 0)
    assert (story.state.known[0].topic, story.state.known[0].leader, story.state.known[0].epoch) == (0, 1, 1)


def test_a_consumer_is_told_of_its_old_epoch_and_validates_before_it_fetches_again() -> None:
    story = Story("leader-discovery", brokers=2, changes=1, elections=1, consumer=1)
    story.play("client-sends-request 0; controller-elects-leader 0 1; broker-learns 0 1; broker-answers-request")
    assert story.state.request.outcome[0] == 2
    story.do("client-receives-response")
    assert not story.can("client-sends-request", broker=1)
    story.do("broker-learns", broker=1, image=1).do("client-validates-position", partition=0)
    story.do("client-sends-request", broker=1).do("broker-answers-request").do("client-receives-response")
    assert story.state.known[0].work == 3


def test_an_unknown_leader_epoch_carries_no_hint() -> None:
    story = Story("leader-discovery", brokers=3, changes=1, elections=1, consumer=1)
    story.do("controller-elects-leader", partition=0, leader=1).do("broker-learns", broker=0, image=1)
    fail(story, 0)
    story.play("broker-learns 1 1; client-validates-position 0; client-sends-request 1; broker-answers-request")
    assert story.state.request.hinted == 0


def test_a_write_whose_connection_breaks_is_not_acknowledged() -> None:
    story = Story("metadata-reads", clients=1, forwarded_writes=1, restarts=1)
    story.play("client-writes 0 1; controller-commits-write 0; server-restarts 1 1")
    assert (story.state.committed, story.state.call[0].status, story.state.store[0].ghost_written) == (1, 0, 0)


def test_a_context_that_clashes_leaves_the_store_as_it_is() -> None:
    story = Story("metadata-reads", clients=1, foreign_contexts=1)
    state = story.do("user-imports-foreign-context", client=0).state
    store_latest(state.store[0].latest, 0, 3)
    assert (state.store[0].latest.cluster, state.store[0].latest.token) == (1, 0)


def ask(story: Story, client: int, node: int) -> Story:
    return story.do("client-reads", client=client, node=node, operation=0)


def answer(story: Story, client: int) -> Story:
    """A server checks a request, handles it and answers."""
    story.do("server-passes-request", client=client).do("server-reads-metadata", client=client)
    return story.do("server-answers", client=client)


IN_ORDER = {"check_first": 1, "torn_reads": 0, "in_order": 1}


def test_a_server_takes_up_a_request_only_when_those_before_it_on_the_connection_are_answered() -> None:
    story = ask(ask(Story("metadata-reads", **IN_ORDER), 0, 1), 1, 1)
    assert not story.can("server-passes-request", client=1)
    answer(story, 0)
    assert story.can("server-passes-request", client=1)
    apart = ask(ask(Story("metadata-reads", one_store=0, **IN_ORDER), 0, 1), 1, 1)
    assert apart.can("server-passes-request", client=1), "clients with their own stores have their own connections"


def test_answers_arrive_in_the_order_of_their_connection_and_those_of_another_broker_may_overtake() -> None:
    story = answer(answer(ask(ask(Story("metadata-reads", **IN_ORDER), 0, 1), 1, 1), 0), 1)
    assert not story.can("client-delivers-answer", client=1)
    story.do("client-delivers-answer", client=0).do("client-delivers-answer", client=1)
    story = answer(answer(ask(ask(Story("metadata-reads", **IN_ORDER), 0, 1), 1, 2), 0), 1)
    story.do("client-delivers-answer", client=1).do("client-delivers-answer", client=0)


def test_a_call_that_is_refused_lets_those_behind_it_pass_and_is_sent_again_behind_them() -> None:
    story = Story("metadata-reads", wrong_contexts=1, **IN_ORDER)
    story.do("user-imports-wrong-context", client=0, token=1)
    ask(ask(story, 0, 1), 1, 1)
    story.do("server-reports-stale-metadata", client=0).do("server-reports-stale-metadata", client=1)
    story.do("client-retries", client=1, node=1).do("client-retries", client=0, node=1)
    story.do("controller-commits-change").do("server-publishes-to-cache", node=1, offset=1)
    assert not story.can("server-passes-request", client=0)
    assert story.can("server-passes-request", client=1)


def test_a_connection_that_is_lost_takes_its_answers_along() -> None:
    story = answer(ask(ask(Story("metadata-reads", restarts=1, **IN_ORDER), 0, 1), 1, 1), 0)
    story.do("server-restarts", node=1, offset=0)
    assert [(call.status, call.ahead, call.token) for call in story.state.call] == [(5, 0, 0), (5, 0, 0)]


@pytest.mark.parametrize(("catches_up", "offset"), [(1, 1), (0, 0)])
def test_a_server_comes_back_with_all_that_was_committed_or_an_older_snapshot(catches_up: int, offset: int) -> None:
    story = Story("metadata-reads", clients=1, restarts=1, restart_catches_up=catches_up)
    story.do("controller-commits-change")
    assert [item.step.args[1] for item in story.can("server-restarts", node=1)] == [offset]


def test_an_answer_keeps_the_cluster_id_that_its_server_had() -> None:
    story = answer(ask(Story("metadata-reads", clients=1, rebuilds=1, check_first=1, torn_reads=0), 0, 1), 0)
    story.play("controller-commits-change; cluster-is-rebuilt 1; client-delivers-answer 0")
    assert story.state.store[0].latest.cluster == 0


def test_a_context_carries_what_was_written_and_what_was_imported() -> None:
    story = Story("metadata-reads", one_store=0, exports=1, direct_writes=1, committed_token=1, check_first=1)
    story.do("client-writes", client=0, node=0).do("server-passes-request", client=0)
    story.do("controller-commits-write", client=0).do("server-answers", client=0).do("client-delivers-answer", client=0)
    story.do("user-exports-context", client=0).do("user-imports-context", client=1)
    assert story.state.store[1].ghost_imported == 1
    assert story.do("user-exports-context", client=1).state.letter.ghost_known == 1
