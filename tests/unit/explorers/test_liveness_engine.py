"""The native engine for properties of behaviours agrees with the reference on larger machines."""

import random
from itertools import combinations
from typing import Any

import fencepost.api as f
import networkx as nx
import numpy as np
import pytest
from fencepost.explorers.liveness import calls
from fencepost.explorers.liveness import engine as engines
from fencepost.explorers.liveness import generated as graphs
from fencepost.explorers.liveness.behaviours import THEN, WHEN, Analysis, Rows, Terms
from fencepost.explorers.plain import search as plain_search
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.explorers.search import search as native_search
from fencepost.explorers.verdict import Options, Reach, Result, Verdict
from fencepost.model.language import Machine, Property, always, at_most, eventually, leads_to, strong, weak
from fencepost.model.language.errors import UsageError
from fencepost.model.lineage import kip320

from tests.helpers.parameters import few
from tests.helpers.questions import shared
from tests.helpers.written import machine_of, module_of
from tests.machines import mailbox
from tests.machines.mailbox import Client, Phase

parcels = module_of("""
class C(Constants):
    items = capacity(2, low=1, high=4, meaning="items in a parcel")
class Box(Record):
    weights: Annotated[Array[Annotated[int, Range(0, 3)]], Size(C.items)]
class Parcel(Record):
    boxes: Annotated[Array[Box], Size(C.items)]
    depths: Annotated[Array[Annotated[int, Range(-2, 0)]], Size(C.items)]
    to: Annotated[int, Range(0, 1)]
class State(Record):
    belt: Annotated[Bag[Parcel], Size(2)]
    last: Annotated[int, Range(0, 2)]
@action()
def initial(s, c):
    s.belt.add(to=0)
    s.belt.add(to=1)
@action(parcel=InFlight("belt"))
def send(s, c, parcel):
    s.last = parcel.to + 1
@action()
def rest(s, c):
    s.last = 0
def forgotten(s, c):
    return s.last == 0
def sent(s, c):
    return s.last == 2
def stopped(s, c):
    return len(s.belt) == 0
MACHINE = Machine("parcels", "parcels on a belt", State, C, initial, (send, rest))
PROPERTIES = ()
""")
"""Parcels on a belt, whose messages hold arrays as long as a constant says; `last`: 0 where nothing was sent."""


def is_waiting(s: mailbox.State, c: mailbox.C, client: int) -> bool:
    return s.client[client].phase == Phase.WAITING


def is_answered(s: mailbox.State, c: mailbox.C, client: int) -> bool:
    return s.client[client].phase != Phase.WAITING


def all_done(s: mailbox.State, c: mailbox.C) -> bool:
    return all(client.phase == Phase.DONE for client in s.client)


def surplus(before: mailbox.State, after: mailbox.State, c: mailbox.C) -> int:
    return before.resends_left - after.resends_left


ABOUT: dict[str, Any] = {"when": is_waiting, "then": is_answered, "client": Client}
DELIVERY = (weak(mailbox.serve, each="request.client"), weak(mailbox.receive, each="response.client"))
EACH_MESSAGE = (weak(mailbox.serve, each="request"), strong(mailbox.receive, each="response"))
PROPERTIES = (
    leads_to("answered", "Whoever waits is answered.", fair=(*DELIVERY, weak(mailbox.send_again, each="client")),
        **ABOUT),
    leads_to("answered-if-nothing-is-lost", "It is.", fair=DELIVERY,
        without=(mailbox.lose_request, mailbox.lose_response), **ABOUT),
    leads_to("answered-message-by-message", "It is.", fair=EACH_MESSAGE, **ABOUT),
    leads_to("answered-by-luck", "Nobody has to serve.", fair=(weak(mailbox.receive),), **ABOUT),
    eventually("all-done", "All are done.", then=all_done, fair=(weak(mailbox.send, each="client"), *EACH_MESSAGE)),
    at_most("steps", "Few steps.", costs={mailbox.serve: 2, mailbox.send_again: 1}, bound=3, fair=EACH_MESSAGE,
        **ABOUT),
    at_most("resends", "Few resends.", costs=surplus, fair=EACH_MESSAGE, **ABOUT),
    at_most("losses", "What all-done costs.", when=None, then=all_done,
        costs={mailbox.lose_request: 1, mailbox.lose_response: 1}),
)  # fmt: skip
SIZES = (
    {"losses": 0},
    {},
    {"clients": 1, "requests": 2},
    {"resends": 1, "deduplicate": 0},
    {"resend": 1, "losses": 2, "resends": 0},
)


def answers(machine: Machine, values: dict[str, int], asked: tuple[Property, ...], **options: Any) -> list[Verdict]:
    plain, native = (
        search(machine, machine.set_constants(values), asked, Options(workers=1, **options)).properties
        for search in (plain_search, native_search)
    )
    told = [[(item.name, item.verdict, item.cost, item.note) for item in found] for found in (plain, native)]
    assert told[0] == told[1]
    return [item.verdict for item in native]


@pytest.mark.parametrize("values", few(SIZES, 6), ids=str)
@pytest.mark.parametrize("normalize", few([True, False], 2))
def test_native_says_what_the_reference_says(values: dict[str, int], normalize: bool) -> None:
    found = answers(mailbox.MACHINE, values, PROPERTIES, normalize=normalize)
    assert values.get("losses") != 0 or {*found} == {Verdict.HOLDS, Verdict.VIOLATED}


@pytest.mark.parametrize("items", [1, 2, 3, 4])
@pytest.mark.parametrize("each", [(), "parcel", "parcel.to"], ids=str)
def test_messages_are_told_apart_by_arrays_shorter_than_their_room(items: int, each: Any) -> None:
    fair = (strong(parcels.send, each=each), weak(parcels.rest))
    asked = tuple(
        leads_to(name, "It comes.", when=parcels.forgotten, then=then, fair=fair)
        for name, then in (("sent", parcels.sent), ("stopped", parcels.stopped))
    )
    first = Verdict.HOLDS if each else Verdict.VIOLATED
    assert answers(parcels.MACHINE, {"items": items}, asked) == [first, Verdict.VIOLATED]


def leads_alone(s: Any, c: Any) -> bool:
    return s.quorum.isr in (1, 2, 4)


def is_complete(s: Any, c: Any) -> bool:
    return s.quorum.isr not in (0, 1, 2, 4)


LINEAGE = (
    leads_to("isr-grows", "The ISR grows again.", when=leads_alone, then=is_complete,
        fair=(weak(*kip320.MACHINE.actions),)),
    at_most("writes", "Writes until then.", when=leads_alone, then=is_complete,
        costs={kip320.MACHINE.action("leader-write"): 1}, unit="writes"),
)  # fmt: skip


def ask(options: Options) -> Result:
    values = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
    return native_search(kip320.MACHINE, kip320.MACHINE.set_constants(values), LINEAGE, options)


def test_each_sort_of_step_has_one_code_however_often_the_table_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, build = [], graphs.Graph.build

    def noted(self: graphs.Graph) -> Rows:
        rows = build(self)
        codes.append(self.codes.tolist())
        return rows

    monkeypatch.setattr(graphs.Graph, "build", noted)
    results = [ask(Options(workers=1))]
    monkeypatch.setattr(graphs, "FIRST_SLOTS", 1)
    results.append(ask(Options(workers=1)))
    assert codes[0] == codes[1]
    assert len(set(codes[1])) == len(codes[1]) > 8
    assert shared(results[0]) == shared(results[1])


def test_a_property_is_undetermined_where_the_budget_ends_in_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.Graph, "build", lambda self: self.pause() or pytest.fail("it went on"))
    monkeypatch.setattr(engines.Engine, "compile_seconds", -1e9)
    result = ask(Options(workers=1, budget=1000.0))
    assert (result.complete, result.why_stopped) == (False, "the time budget of 1000 s ran out")
    assert {item.verdict for item in result.properties} == {Verdict.UNDETERMINED}


def test_an_interrupt_in_the_graph_leaves_it_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.Engine, "depth", lambda self, _: self.ask(BY_KEYBOARD) and self.pause())
    result = ask(Options(workers=1))
    assert (result.complete, result.why_stopped) == (False, "SIGINT was received")
    assert result.verdict is Verdict.UNDETERMINED


def test_a_graph_that_will_not_fit_is_not_begun_nor_one_of_fingerprints() -> None:
    size = ask(Options(workers=1)).store_bytes
    result = ask(Options(workers=1, memory=size + (1 << 20)))
    assert result.verdict is Verdict.UNDETERMINED
    assert "too small for the graph of" in result.why_stopped or "memory limit" in result.why_stopped
    with pytest.raises(UsageError, match="`compact=True` stores no states"):
        ask(Options(workers=1, compact=True))


def nowhere(s: mailbox.State, c: mailbox.C) -> bool:
    return 1 << (s.losses_left - 2) == 1


@always
def loses_nothing(s: mailbox.State, c: mailbox.C) -> bool:
    return s.losses_left == c.losses


def is_lost(s: mailbox.State, c: mailbox.C) -> bool:
    return s.losses_left < c.losses


@pytest.mark.parametrize("search", [plain_search, native_search], ids=["plain", "native"])
def test_what_was_violated_before_is_told_beside_an_error_in_a_predicate(search: Any) -> None:
    stays = eventually("stays", "A loss is taken.", then=is_lost)
    prop = eventually("wrong", "It shifts by less than nothing.", then=nowhere)
    for asked in ((loses_nothing, prop), (stays, prop)):
        found = search(mailbox.MACHINE, mailbox.MACHINE.set_constants({"resends": 0}), asked, Options(workers=1))
        assert [item.text.partition(":")[0] for item in found.problems] == ["property 'wrong'"]
        assert not found.complete
        assert [item.verdict for item in found.properties] == [Verdict.VIOLATED, Verdict.UNDETERMINED]


ROOMS = machine_of("""
class C(Constants):
    n = shape(2, low=1, high=3, meaning="rooms")
Room = Annotated[int, Index(C.n)]
class State(Record):
    x: Annotated[Array[Annotated[int, Range(0, 3)]], Per(Room)]
@action()
def initial(s, c):
    s.x[c.n - 1] = 3
@action(r=Room)
def go(s, c, r):
    require(s.x[r] < 3)
    s.x[r] += 1
def exists(s, c, r):
    return s.x[r] >= 0
def is_done(s, c, r):
    return s.x[r] == 3
done = at_most("done", "Done.", costs={go: 1}, when=exists, then=is_done, fair=(weak(go, each="r"),), r=Room)
PROPERTIES = (done,)
""")
"""In the last room everything is done from the start, so there is no way there."""


@pytest.mark.parametrize("engine", ["plain", "native"])
@pytest.mark.parametrize(("n", "worst", "best"), [(1, 0, 0), (2, 3, 1), (3, 6, 1)])
def test_the_least_cost_is_the_least_over_all_ways_of_all_values(engine: str, n: int, worst: int, best: int) -> None:
    cost = f.check(*ROOMS, engine=engine, n=n).properties[0].cost
    assert (cost.worst, cost.best) == (worst, best)


Edges = list[tuple[int, int, int]]  # a graph: source, target and class of each step


def rows_of(states: int, edges: Edges) -> Rows:
    ordered = sorted(edges, key=lambda edge: edge[0])
    offsets = np.searchsorted([source for source, _, _ in ordered], np.arange(states + 1)).astype(np.int64)
    return Rows(offsets, np.array([t for _, t, _ in ordered], np.int32), np.array([k for _, _, k in ordered], np.int32))


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_networkx_and_in_order(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 (no secret)
    states = draw.choice((1, 5, 60, 400))
    count = int(states * draw.choice((0.5, 1.1, 2)))
    edges = [(draw.randrange(states), draw.randrange(states), 0) for _ in range(count)]
    rows, component, none = rows_of(states, edges), np.full(states, -1, np.int32), np.zeros(0, np.int64)
    marks = np.zeros(states, np.uint8)
    graph = calls.Graph((rows.offsets, rows.targets, rows.classes), np.ones(1, np.bool_), marks, none, none)
    nodes, nothing = np.arange(states, dtype=np.int32), np.zeros(states, np.int32)
    found = calls.components(graph, nodes, nothing, component, nothing.copy())
    expected = nx.MultiDiGraph()
    expected.add_nodes_from(range(states))
    expected.add_edges_from((source, target) for source, target, _ in edges)
    parts = {frozenset(part) for part in nx.strongly_connected_components(expected)}
    assert {frozenset(np.flatnonzero(component == number).tolist()) for number in range(found)} == parts
    assert all(component[target] <= component[source] for source, target, _ in edges)


PROMISES = 150  # more than fit two words of bits


@pytest.mark.parametrize("block", range(4))
def test_many_promises_are_judged_as_brute_force_judges_them(block: int) -> None:
    verdicts = set()
    for seed in range(block, 400, 4):
        draw = random.Random(seed)  # noqa: S311 (no secret)
        states, classes = draw.randint(2, 6), draw.randint(1, 6)
        count = draw.randint(1, 14)
        edges = [(draw.randrange(states), draw.randrange(states), draw.randrange(classes)) for _ in range(count)]
        own = [set(draw.sample(range(PROMISES), draw.choice((0, 1, 1, 3)))) for _ in range(classes)]
        strong_ones = {number for number in range(PROMISES) if draw.random() < 0.5}
        marks = np.array([WHEN * (draw.random() < 0.5) + THEN * (draw.random() < 0.2) for _ in range(states)], np.uint8)
        begins = np.flatnonzero(marks == WHEN)
        terms = Terms(np.array([words_of(bits) for bits in own]), words_of(strong_ones), np.ones(classes, np.bool_))
        zeros = np.zeros(states, np.int32)
        answer = Analysis(rows_of(states, edges), terms, marks, begins, lambda _, zeros=zeros: zeros).run()
        then = {*np.flatnonzero(marks & THEN).tolist()}
        lasts = _lasts(states, edges, own, strong_ones, then, {*begins.tolist()})
        assert (answer.reach is Reach.NEVER) == lasts
        verdicts.add(lasts)
    assert verdicts == {True, False}


def words_of(bits: set[int]) -> Any:
    return np.array([sum(1 << bit % 64 for bit in bits if bit // 64 == word) for word in range(3)], np.uint64)


def _lasts(
    states: int, edges: Edges, own: list[set[int]], strong_ones: set[int], then: set[int], begins: set[int]
) -> bool:
    """Return whether a behaviour lasts, by trying every set of states that may be visited for ever."""
    inside = set(begins)
    for _ in range(states):
        inside |= {t for n, t, _ in edges if n in inside and t not in then}
    for size in range(1, len(inside) + 1):
        for part in map(set, combinations(sorted(inside), size)):
            graph = nx.DiGraph((n, t) for n, t, _ in edges if n in part and t in part)
            graph.add_nodes_from(part)
            if not nx.is_strongly_connected(graph):
                continue
            enabled = {n: {p for s, t, k in edges if s == n and t != n for p in own[k]} for n in part}
            happen = {p for n, t, k in edges if n in part and t in part and t != n for p in own[k]}
            somewhere, everywhere = set.union(*enabled.values()), set.intersection(*enabled.values())
            if not (somewhere & strong_ones | everywhere) - happen:
                return True
    return False
