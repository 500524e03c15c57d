"""The token store follows its documentation: compared with a second implementation, for all small contexts."""

from itertools import product
from typing import Any

import pytest
from fencepost.invariants.catalogue import runs_of
from fencepost.model.clients.tokens import store
from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.operations import LISTED, Operation
from fencepost.model.clients.tokens.state import State
from fencepost.model.language.records import Schema

UNKNOWN = None
CONTEXTS = [UNKNOWN, *product(range(2), range(4))]
"""Contexts as users see them: unknown, or a cluster with an offset."""


class Store:
    """ConsistencyContextStore by its documentation."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def store_latest(self, context: Any) -> bool:
        """Keep the later context; throw if cluster ids do not match; return whether the store changed."""
        if context is not UNKNOWN and self.context is not UNKNOWN and context[0] != self.context[0]:
            raise ValueError
        if context is UNKNOWN or (self.context is not UNKNOWN and context[1] <= self.context[1]):
            return False
        self.context = context
        return True


def stored(context: Any) -> Any:
    latest = Schema(State, C()).new().store[0].latest
    latest.cluster, latest.token = (-1, -1) if context is UNKNOWN else context
    return latest


@pytest.mark.parametrize("before", CONTEXTS)
@pytest.mark.parametrize("given", CONTEXTS)
def test_store_latest_is_what_its_documentation_says(before: Any, given: Any) -> None:
    second, latest = Store(before), stored(before)
    cluster, token = (-1, -1) if given is UNKNOWN else given
    try:
        changed = second.store_latest(given)
        assert not store.clashes(cluster, latest.cluster)
        assert store.is_more_up_to_date(cluster, token, latest.cluster, latest.token) is changed
    except ValueError:
        assert store.clashes(cluster, latest.cluster)
    store.store_latest(latest, cluster, token)
    after = UNKNOWN if store.is_unknown(latest.cluster) else (latest.cluster, latest.token)
    assert after == second.context


def test_later_is_the_context_with_the_greater_offset() -> None:
    assert [store.later(one, other) for one, other in ((1, 2), (2, 1), (2, 2))] == [2, 2, 2]


@pytest.mark.parametrize(
    ("token", "stored_token", "rejects_late", "refuses_untokened", "accepted"),
    [
        (1, 2, 0, 0, True),
        (1, 2, 1, 0, False),
        (2, 2, 1, 0, True),
        (3, 2, 1, 1, True),
        (-1, 2, 1, 0, True),
        (-1, 2, 0, 1, False),
        (-1, -1, 0, 1, False),
        (0, -1, 1, 1, True),
    ],
)
def test_a_client_accepts_by_token(
    token: int, stored_token: int, rejects_late: int, refuses_untokened: int, accepted: bool
) -> None:
    assert store.is_accepted(token, stored_token, rejects_late, refuses_untokened) is accepted


def test_the_operations_are_the_ten_of_the_draft() -> None:
    assert [item.key for item in LISTED] == [3, 29, 32, 35, 41, 48, 50, 60, 74, 75]
    assert {item.operation for item in LISTED} == {Operation.CACHE, Operation.COMPONENT}


def test_the_repaired_draft_keeps_what_the_draft_is_for_at_full_size() -> None:
    """Two clients of one store, the controller and two brokers, offsets to 3.

    All but what is said of STALE_METADATA, and that tokens never fall: of two writes the earlier may be answered last.
    """
    named = {run.title: run for run in runs_of("metadata-reads") if run.version == "repaired"}
    for title in ("2 clients", "2 clients, component", "2 clients, writes", "2 processes"):
        run = named[title]
        assert run.constants.get("offsets", 3) == 3
        assert set(run.violated) <= {"stale-servers-lag", "stale-servers-lag-behind-what-was-seen", "tokens-never-fall"}
