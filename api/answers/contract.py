"""The JSON of the contract as types: what `to_dict()` returns and `--json` prints. What each key means is in docs/json.md."""

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


class VerdictData(TypedDict):
    """A verdict that was expected."""

    verdict: str


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
    """What was found of a property; a violation and a worst case have a trace."""

    name: str
    kind: str
    verdict: str
    length: NotRequired[int]
    culprit: NotRequired[str]
    trace: NotRequired[str | None]
    steps: NotRequired[list[str]]


class HistoryData(TypedDict):
    """A history: what it shows, and its steps."""

    property: str | None
    finding: str
    length: int
    steps: list[str]


class CompiledData(TypedDict):
    """What compiling a machine took."""

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


class StableData(TypedDict):
    """How far a verdict is the same."""

    name: str
    verdict: str
    stable_up_to: dict[str, int]
    changes: NotRequired[ChangeData]


class RaisedData(TypedDict):
    """A bound that was raised, and the search with it."""

    constant: str
    value: int
    distinct: int
    seconds: float
    complete: bool
    why_stopped: str
    changed: list[str]


class GrowthData(TypedDict):
    """What raising bounds has shown."""

    complete: bool
    why_stopped: str
    seconds: float
    bounds: dict[str, int]
    settled: list[str]
    open: list[str]
    switched_off: list[str]
    properties: list[StableData]
    steps: list[RaisedData]


class WarningData(TypedDict):
    """What makes an answer look better than it is."""

    kind: str
    about: str
    text: str


class SearchData(TypedDict):
    """What a search found."""

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
    peak_memory_bytes: int
    compiled: list[CompiledData]
    growth: NotRequired[GrowthData]
    warnings: NotRequired[list[WarningData]]


class CheckData(SearchData):
    """`check` of a protocol."""

    expected: NotRequired[VerdictData]
    as_expected: NotRequired[bool]


class ExpectedData(TypedDict):
    """What a run of the catalogue must find."""

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


class ShrinkData(TypedDict):
    """A trace of `shrink`."""

    protocol: str
    property: str | None
    before: int
    length: int
    lowered: dict[str, dict[str, Value]]
    shortest: bool
    checked: int
    searched: int
    why_stopped: str
    seconds: float
    steps: list[str]


class WalkedData(TypedDict):
    """What random walks found of a property."""

    name: str
    kind: str
    verdict: str
    walks: NotRequired[int]
    walk: NotRequired[int | None]
    length: NotRequired[int]
    trace: NotRequired[str | None]
    steps: NotRequired[list[str]]
    shrunk: NotRequired[ShrinkData]


class SimulateData(TypedDict):
    """`simulate`."""

    format: int
    protocol: str
    constants: Values
    engine: str
    workers: int
    verdict: str
    complete: bool
    why_stopped: str
    seed: int
    weights: dict[str, float]
    walks: int
    depth: int
    steps: int
    longest: int
    stuck: int
    distinct_estimate: int
    budgets_spent: int
    deepest_log: int
    seconds: float
    properties: list[WalkedData]
    actions: list[ActionData]
    notes: list[str]
    expected: NotRequired[VerdictData]
    as_expected: NotRequired[bool]


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


class AuditFinding(TypedDict):
    """A finding of `audit` about a partition; times are in milliseconds since 1970, `lasted` is -1 for a moment."""

    sort: str
    kind: str
    severity: str
    about: str
    topic: str
    partition: int
    offset: int
    time: int
    end: int
    lasted: int
    brokers: list[int]
    text: str


class AuditSort(TypedDict):
    """How often something was found, what it means, and what to look at."""

    sort: str
    kind: str
    severity: str
    about: str
    page: str
    sentence: str
    look: str
    count: int
    partitions: int
    first: int
    last: int
    longest: int


class AuditStep(TypedDict):
    """A partition after a change."""

    offset: int
    time: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    elr: list[int]
    adding: list[int]
    removing: list[int]
    min_isr: int
    election: str
    why: str | None


class AuditHistory(TypedDict):
    """What led to a finding, and what came after it. `earlier` changes, and `left_out` before the newest, are not among the steps."""

    topic: str
    partition: int
    steps: list[AuditStep]
    earlier: int
    left_out: int
    gaps: list[list[int]]
    end: dict[str, int]
    advice: list[str]


class AuditInput(TypedDict):
    """A file that was read; `first` and `last` are null for a snapshot."""

    path: str
    kind: str
    records: int
    first: int | None
    last: int | None


class AuditNote(TypedDict):
    """What could not be read, or was noticed while reading."""

    what: str
    text: str
    count: int
    unread: bool


class AuditBroken(TypedDict):
    """A property that does not hold on a way through the model, and the first step after which it does not."""

    property: str
    sentence: str
    step: int


class AuditRecorded(TypedDict):
    """A step of a way through the model that was recorded."""

    step: int
    offset: int
    time: int


class AuditTrace(TypedDict):
    """A recorded history as a trace of the model; `next` is the first offset that is not on the way, null if all are.

    `left_out` says why it begins only at `first`; empty if the partition begins there.
    """

    file: str
    partition: str
    version: str
    brokers: list[int]
    first: int
    left_out: str
    last: int
    next: int | None
    recorded: int
    steps: list[AuditRecorded]
    states: int
    broken: list[AuditBroken]
    searched: int


class AuditData(TypedDict):
    """`audit`."""

    format: int
    verdict: str
    warnings: list[str]
    inputs: list[AuditInput]
    began: int | None
    until: int | None
    severity: str
    milder: int
    records: int
    read_now: int
    first: int | None
    last: int | None
    files: int
    changes: int
    topics: int
    partitions: int
    unjudged: int
    unjudged_partitions: int
    elections: int
    sorts: list[AuditSort]
    findings: list[AuditFinding]
    omitted: int
    histories: list[AuditHistory]
    trace: AuditTrace | None
    by_topic: list[dict[str, Value]]
    by_broker: list[dict[str, Value]]
    by_day: list[dict[str, Value]]
    notes: list[AuditNote]
    gaps: list[list[int]]
    overlaps: list[list[int]]
    disagreements: dict[str, int]
    output: str | None
    reading_seconds: float
    seconds: float
