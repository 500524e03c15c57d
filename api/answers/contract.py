"""The JSON of the contract as types; docs/use/json.md says what each key means."""

from __future__ import annotations

from typing import NotRequired, TypedDict

Value = bool | int | str
"""A constant as it reads on the command line and in JSON."""
Values = dict[str, Value]


class ActionData(TypedDict):
    """How often an action happened."""

    name: str
    fired: int


class GuardData(TypedDict):
    """How often a guard was the first of its action to refuse."""

    action: str
    condition: str
    refused: int


class RefusedData(TypedDict):
    """A point of a grid that the machine refuses."""

    constants: Values
    why: str


_OfBehaviours = TypedDict(
    "_OfBehaviours",
    {
        "for": dict[str, int],
        "loop": int | None,
        "worst": int | str,
        "best": int | None,
        "bound": int | None,
        "unit": str,
        "note": str,
    },
    total=False,
)


class PropertyData(_OfBehaviours):
    """Finding on a property; a violation and a worst case have a trace."""

    name: str
    kind: str
    verdict: str
    length: NotRequired[int]
    culprit: NotRequired[str]
    trace: NotRequired[str | None]
    steps: NotRequired[list[str]]


class CompiledData(TypedDict):
    """Cost of compiling a machine."""

    tier: str
    kept: bool
    seconds: float
    peak_memory_bytes: int


class BoundData(TypedDict):
    """A bound that cut a search short: in how many states it alone did."""

    constant: str
    value: int
    refused: int
    at_least: NotRequired[bool]
    together: NotRequired[bool]


class ChangeData(TypedDict):
    """The bound that gives a property another verdict."""

    constant: str
    value: int
    verdict: str
    cell: dict[str, int]


class StableData(TypedDict):
    """How far a verdict is the same."""

    name: str
    verdict: str
    stable_up_to: dict[str, int]
    changes: NotRequired[ChangeData]
    cells: list[dict[str, int]]
    box: bool


class RaisedData(TypedDict):
    """A bound that was raised, and the search with it."""

    constant: str
    value: int
    distinct: int
    seconds: float
    complete: bool
    why_stopped: str
    changed: list[str]
    cell: dict[str, int]


class GrowthData(TypedDict):
    """Outcome of raising bounds."""

    complete: bool
    why_stopped: str
    seconds: float
    bounds: dict[str, int]
    settled: list[str]
    open: list[str]
    switched_off: list[str]
    properties: list[StableData]
    steps: list[RaisedData]
    not_raised: dict[str, str]


class WarningData(TypedDict):
    """Warning that an answer looks better than it is."""

    kind: str
    about: str
    text: str


class SampleData(TypedDict):
    """Stored states that were expanded once more, of how many."""

    states: int
    of: int


class SearchData(TypedDict):
    """Outcome of a search."""

    format: int
    protocol: str
    constants: Values
    engine: str
    workers: int
    verdict: str
    complete: bool
    exact: bool
    why_stopped: str
    distinct: int
    generated: int
    depth: int
    seconds: float
    properties: list[PropertyData]
    actions: list[ActionData]
    guards: list[GuardData]
    bounds_reached: list[BoundData]
    bounds_not_reached: list[str]
    deadlocks: int
    levels: list[int]
    omission: float
    notes: list[str]
    store_bytes: int
    cross_check: SampleData | None
    peak_memory_bytes: int
    compiled: list[CompiledData]
    growth: NotRequired[GrowthData]
    warnings: NotRequired[list[WarningData]]
    base: NotRequired[str]


class ExpectedData(TypedDict):
    """Expectations of a run of the catalogue."""

    verdict: str
    distinct: int | None
    depth: int | None
    violated: dict[str, int]
    unreached: list[str]
    worst: NotRequired[dict[str, int | str]]


class RunData(SearchData):
    """`check` of a run of the catalogue: what was found beside what was expected."""

    run: str
    expected: ExpectedData
    as_expected: bool
    differences: list[str]


class SweptViolation(TypedDict):
    """A property that walks of a cell violated."""

    property: str
    walks: int
    length: int
    walk: int
    shortened: NotRequired[int]
    is_shortest: NotRequired[bool]
    trace: NotRequired[str]


class SweptCellData(TypedDict):
    """A cell of a sweep; of one that was not walked yet there are no figures."""

    constants: Values
    verdict: str
    walks: int
    violations: list[SweptViolation]
    steps: NotRequired[int]
    violated: NotRequired[int]
    most_faults: NotRequired[int]
    deepest_log: NotRequired[int]
    stuck: NotRequired[int]
    distinct: NotRequired[int]
    growth: NotRequired[list[int]]
    actions: NotRequired[list[ActionData]]
    walking_seconds: NotRequired[float]
    smallest_unsafe: NotRequired[bool]


class SignatureData(TypedDict):
    """Violations of a property with the same actions."""

    property: str
    actions: list[str]
    walks: int
    cells: int
    length: int


class SweepData(TypedDict):
    """`sweep`."""

    format: int
    protocol: str
    engine: str
    verdict: str
    complete: bool
    why_stopped: str
    constants: Values
    axes: dict[str, list[Value]]
    seed: int
    depth: int
    walks: int
    walked_now: int
    steps: int
    seconds: float
    output: str | None
    properties: list[str]
    cells: list[SweptCellData]
    refused: list[RefusedData]
    signatures: list[SignatureData]
