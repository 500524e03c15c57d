"""Arguments of the calls of the API: what cannot be meant is one message, no name of a constant is taken for something
else, and constants have Kafka's names too.
"""

import inspect
from collections.abc import Callable
from typing import Any

import fencepost.api as f
import pytest
from fencepost.api.asking import arguments
from fencepost.api.asking.constants import parse_setting
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError
from fencepost.testing import checks

from tests.helpers.written import machine_of
from tests.machines import mailbox, vault
from tests.unit.explorers.test_bounds import shelf

API = [getattr(f, name) for name in f.__all__]
CALLS: tuple[Callable[..., Any], ...] = (*(item for item in API if hasattr(item, "__wrapped__")), checks.check)
CONSTANTS = """
class C(Constants):
    {name} = bound(2, low=1, high=4, meaning="how often it happens")
class State(Record):
    happened: Annotated[int, Range(0, 9)]
@action()
def go(s, c):
    require(s.happened < c.{name}, bound=C.{name})
    s.happened += 1
@always
def few(s, c):
    return s.happened < 9
"""


@pytest.mark.parametrize("item", CALLS, ids=lambda item: item.__name__)
def test_every_type_of_an_argument_is_known_and_every_number_has_its_least_value(item: Callable[..., Any]) -> None:
    other = {"Any", "Severity", "Search", "Iterable[str] | Mapping[str, int]"}
    for parameter in inspect.signature(item).parameters.values():
        kind = str(parameter.annotation).removesuffix(" | None")
        if kind in ("int", "float"):
            assert parameter.name in arguments.LEAST
        elif parameter.name not in ("what", "a", "b") and kind not in other:
            assert kind in arguments._KINDS or kind in arguments._LISTS


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        (f.simulate, {"seed": 1.5}, "seed cannot be 1.5: expected a whole number, 0 or more."),
        (f.simulate, {"seed": True}, "seed cannot be True: expected a whole number."),
        (f.simulate, {"walks": 0}, "walks cannot be 0: expected a whole number, 1 or more."),
        (f.simulate, {"depth": 0}, "depth cannot be 0: expected a whole number, 1 or more."),
        (f.simulate, {"walks": None}, "walks cannot be None: expected a whole number."),
        (f.simulate, {"weights": {"put": 1.5}},
            "weights cannot be {'put': 1.5}: expected a dictionary of whole numbers by name."),
        (f.check, {"constants": 3}, "constants cannot be 3: expected a dictionary of constants by name."),
        (f.check, {"constants": {3: 3}}, "constants cannot be {3: 3}: expected a dictionary of constants by name."),
        (f.check, {"only": 3}, "only cannot be 3: expected a list of names."),
        (f.check, {"only": [3]}, "only cannot be [3]: expected a list of names."),
        (f.check, {"properties": [3]},
            "properties cannot be [3]: expected a tuple of the results of @always, @step(...) and @sometimes."),
        (f.check, {"budget": "3"}, "budget cannot be '3': expected a number of seconds, 0 or more."),
        (f.check, {"budget": float("nan")}, "budget cannot be nan: expected a number of seconds, 0 or more."),
        (f.prove, {"timeout": float("inf")}, "timeout cannot be inf: expected a finite number."),
        (f.check, {"memory": float("inf")}, "memory cannot be inf: expected a finite number."),
        (f.check, {"compact": "no"}, "compact cannot be 'no': expected True or False."),
        (f.check, {"checkpoint": 3}, "checkpoint cannot be 3: expected a path."),
        (f.check, {"progress": 3}, "progress cannot be 3: expected a function that takes events."),
        (f.check, {"cancel": 3}, "cancel cannot be 3: expected a function that returns true when the search should"),
        (f.check, {"cluster": 3}, 'cluster cannot be 3: expected a master such as "local[2]", or Cluster(...).'),
        (f.ablate, {"also": {"books": 3}},
            "also cannot be {'books': 3}: expected a dictionary of lists of values, by the name"),
        (f.faults, {"prop": "x", "grid": {"books": "12"}},
            "grid cannot be {'books': '12'}: expected a dictionary of lists"),
        (f.faults, {"prop": 3}, "prop cannot be 3: expected text."),
    ],
)  # fmt: skip
def test_an_argument_of_wrong_type_is_refused(call: Callable[..., Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(f.UsageError) as error:
        call(shelf.MACHINE, **{"properties": shelf.PROPERTIES, **given})
    assert str(error.value).startswith(message)


def test_calls_without_a_machine_say_it_as_well() -> None:
    for call, given, named, said in (
        (f.advise, 3, {"elr": 1}, "elr cannot be 1: expected True or False"),
        (f.audit, "log", {"within": float("inf")}, "within cannot be inf: expected a finite number"),
        (f.audit, 3, {}, "paths cannot be 3: expected a path"),
        (f.shrink, 3, {}, "3 cannot be shortened: write a counterexample"),
    ):
        with pytest.raises(f.UsageError, match=said):
            call(given, **named)


def test_a_text_of_a_model_and_a_format_that_is_none_are_refused() -> None:
    with pytest.raises(f.UsageError, match="not 2 lines of text: write them to a file first"):
        f.check("a\nb")
    trace = f.check("kip101", replicas=2).trace
    assert trace is not None
    with pytest.raises(f.UsageError, match="there is no format 'jsn'"):
        trace.render("jsn")


@pytest.mark.parametrize("name", ["workers", "budget", "memory", "compact", "version", "only", "cancel"])
def test_a_constant_is_not_taken_for_an_argument_of_the_same_name(name: str) -> None:
    machine, properties = machine_of(CONSTANTS.format(name=name))
    value = {"compact": True, "version": "", "only": "few", "cancel": lambda: False, "memory": 1 << 40}.get(name, 3)
    with pytest.raises(f.UsageError) as error:
        f.check(machine, properties, engine="plain", **{name: value})
    assert str(error.value) == (
        f"check() has an argument {name}=, and protocol 'machine' has a constant {name!r}: "
        f"for the constant, write constants={{{name!r}: VALUE}}, and add {name}= if you need the argument too."
    )
    assert f.check(machine, properties, engine="plain", constants={name: 3}).distinct == 4
    assert f.check(machine, properties, engine="plain", constants={name: 3}, **{name: value}).distinct == 4
    assert f.check(machine, properties, engine="plain").distinct == 3


@pytest.mark.parametrize("call", [f.ablate, f.prove, f.simulate], ids=lambda item: item.__name__)
def test_no_call_takes_a_constant_for_its_own_argument(call: Callable[..., Any]) -> None:
    if call is f.prove:
        pytest.importorskip("z3")
    machine, properties = machine_of(CONSTANTS.format(name="workers"))
    with pytest.raises(f.UsageError, match=f"{call.__name__}\\(\\) has an argument workers="):
        call(machine, properties, workers=3)
    with pytest.raises(f.UsageError, match="has an argument workers="):
        f.faults(machine, properties, prop="few", workers=3)
    assert f.in_hand(machine, properties, workers=3).plain.constants.values["workers"] == 3


def test_constants_are_given_once() -> None:
    all_of_them = shelf.MACHINE.set_constants({"books": 1})
    assert f.check(shelf.MACHINE, shelf.PROPERTIES, engine="plain", constants=all_of_them).constants["books"] == 1
    for found, constants, by_name, said in (
        (shelf, all_of_them, {"books": 2}, "already has a value for each constant, so `books=` cannot be added"),
        (shelf, {"books": 1}, {"books": 2}, r"constant .books. is 1 in `constants=` but 2 as an argument: leave"),
        (mailbox, all_of_them, {}, "is a record of class C, which does not belong to protocol 'mailbox'"),
    ):
        with pytest.raises(f.UsageError, match=said):
            f.check(found.MACHINE, found.PROPERTIES, constants=constants, **by_name)


def test_what_a_call_inside_of_another_is_given_is_its_own() -> None:
    machine, properties = machine_of(CONSTANTS.format(name="budget"))
    seen = []

    def look(_: f.Event) -> None:
        seen.append(f.check(machine, properties, engine="plain").distinct)

    f.check("kip320", engine="plain", replicas=2, max_leader_epoch=1, budget=60, progress=look)
    assert set(seen) == {3}


@pytest.mark.parametrize("name", ["only", "property", "prop"])
def test_a_property_is_named_by_each_word_on_each_call(name: str) -> None:
    checked = f.check("kip320", replicas=2, **{name: "weak-isr"})
    assert [(item.name, item.verdict) for item in checked.properties] == [("weak-isr", "holds")]
    counted = f.faults(vault.MACHINE, vault.PROPERTIES, **{name: "a-copy-is-left"})
    assert counted.prop == "a-copy-is-left"
    other = "property" if name == "only" else "only"
    with pytest.raises(f.UsageError, match="which mean the same"):
        f.check("kip320", replicas=2, **{name: "weak-isr", other: "strong-isr"})


@pytest.mark.parametrize(
    ("name", "setting", "found"),
    [
        ("replication", "min.insync.replicas=2", ("min_isr", 2)),
        ("replication", "unclean.leader.election.enable=true", ("unclean_election", 1)),
        ("replication", "replicas=2", ("brokers", 2)),
        ("replication", "replication.factor=3", ("brokers", 3)),
        ("kip320", "brokers=2", ("replicas", 2)),
        ("kip320", "replication-factor=2", ("replicas", 2)),
    ],
)
def test_a_setting_of_kafka_sets_the_constant_that_means_it(name: str, setting: str, found: tuple[str, int]) -> None:
    assert parse_setting(protocol(name).machine, "--set", setting) == found


def test_an_unknown_constant_is_told_by_its_meaning() -> None:
    with pytest.raises(UsageError, match=r"Constants with a similar meaning: clean_stops\.$"):
        parse_setting(protocol("replication").machine, "--set", "controlled_shutdowns=1")
    with pytest.raises(UsageError) as none:
        parse_setting(protocol("kip320").machine, "--set", "xyzzy=1")
    assert "meaning" not in str(none.value)
