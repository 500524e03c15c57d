"""The JSON of answers as types, where it is made and read as such; docs/use/json.md says what each key means."""

from typing import NotRequired, TypedDict

from fencepost.api.asking.constants import Value

Values = dict[str, Value]


class ActionData(TypedDict):
    """How often an action happened."""

    name: str
    fired: int


class RefusedData(TypedDict):
    """A point of a grid that the machine refuses."""

    constants: Values
    why: str


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


class CellData(TypedDict):
    """Cell of a matrix: a property in a row."""

    verdict: str
    depth: NotRequired[int]
    length: NotRequired[int]
    new: NotRequired[bool]
    steps: NotRequired[list[str]]
    trace: NotRequired[str]
    file: NotRequired[str]


class DepartureData(TypedDict):
    """The first step that leaves a domain."""

    length: int
    message: str


class RowData(TypedDict):
    """A row of a matrix: a guard that was removed, or a constant that was set otherwise."""

    row: str
    condition: str
    sentence: str
    kind: str
    action: NotRequired[str]
    number: NotRequired[int]
    part: NotRequired[int]
    constant: NotRequired[str]
    purpose: str
    broken: list[str]
    grown: bool | None
    refused: int
    alone: int | None
    complete: bool
    why: str
    distinct: int | None
    depth: int | None
    seconds: float | None
    cells: dict[str, CellData]
    departure: DepartureData | None
    liveness: NotRequired[list[str]]


class WholeProperty(TypedDict):
    """Verdict of the whole machine of a matrix on a property."""

    name: str
    sentence: str
    kind: str
    verdict: str
    length: int | None


class LivenessData(TypedDict):
    """Properties of the end: those that the whole machine keeps and violates; of the rest it is not known."""

    asked: list[str]
    holding: list[str]
    violated: list[str]


class MatrixData(TypedDict):
    """`ablate`."""

    format: int
    protocol: str
    sentence: str
    constants: Values
    properties: list[WholeProperty]
    asked: list[str]
    distinct: int
    generated: int
    depth: int
    seconds: float
    actions: list[ActionData]
    rows: list[RowData]
    not_run: list[str]
    why_stopped: str
    suspicions: dict[str, list[str]]
    liveness: NotRequired[LivenessData]


class BreakingData(TypedDict):
    """A minimal set of faults that breaks a property, with its history."""

    faults: dict[str, int]
    free: NotRequired[dict[str, int]]
    cost: int
    length: int
    steps: list[str]
    file: NotRequired[str]


class UnknownData(TypedDict):
    """A set of faults whose search ended without a decision."""

    faults: dict[str, int]
    why: str


class PointData(TypedDict):
    """Faults that one setting of a grid tolerates."""

    setting: Values
    constants: Values
    kinds: list[str]
    most: dict[str, int]
    least: int | None
    undetermined: bool
    interrupted: bool
    unknown: list[UnknownData]
    front: list[BreakingData]
    searches: int
    states: int
    omission: float
    costs: NotRequired[dict[str, int]]
    fewer: NotRequired[dict[str, str]]


class NamedProperty(TypedDict):
    """A property with its sentence."""

    name: str
    sentence: str


class FaultsData(TypedDict):
    """`faults`."""

    format: int
    protocol: str
    property: NamedProperty
    costs: dict[str, int]
    grid: list[PointData]
    refused: list[RefusedData]
    not_run: list[str]


class CrashesData(TypedDict):
    """Effect of crashes on an acknowledged record under the settings of a topic, as it was measured."""

    outcome: str
    property: NamedProperty
    counted: list[str]
    most: dict[str, int]
    least: int | None
    front: list[BreakingData]
    explore: list[str]
    told: list[list[str]]
    not_counted: dict[str, int]
    never: list[str]
    states: int
    omission: float
    constants: Values


class LossData(TypedDict):
    """The shortest known history by which a finding loses a record."""

    property: str
    length: int
    run: str
    trace: str | None
    brokers: int
    min_isr: int


class NeededData(TypedDict):
    """The fewest faults and operator's actions by which a finding loses a record, as it was measured."""

    brokers: int
    kinds: list[str]
    most: dict[str, int]
    least: int | None
    front: list[BreakingData]
    undetermined: bool
    constants: Values


class AppliesData(TypedDict):
    """A finding that a release has."""

    id: str
    sentence: str
    repair: str | None
    avoid: str | None
    classes: list[str]
    clusters: list[str]
    measured_on: str | None
    loses: LossData | None
    faults: NeededData | None
    group: str
    triggers: list[str]
    crashes: int | None
    harm: str | None


class LostData(TypedDict):
    """A minimal set of faults that loses a record, and the states of its shortest history."""

    faults: dict[str, int]
    length: int


class ReleasedData(TypedDict):
    """Losses of a release as it is, where crashes leave the disk as it is."""

    brokers: int
    outcome: str
    most: dict[str, int]
    least: int | None
    front: list[LostData]
    undetermined: bool
    states: int


class ChangeData(TypedDict):
    """A change of one setting after which more crashes are survived."""

    setting: str
    value: Value
    outcome: str
    least: int | None
    writes_go_on_with_brokers_down: int


class SeenData(TypedDict):
    """Observations of an operation: on clusters, on Kafka's classes or in the model.

    `differs` names the settings that it was seen with others than are asked about; `times` of `of` runs on clusters.
    """

    seen: str
    outcome: str
    findings: list[str]
    release: str
    replicas: int
    min_isr: int
    brokers: int
    elr: bool
    differs: list[str]
    run: str
    story: str
    times: int | None
    of: int | None
    lost: int | None
    acknowledged: int | None
    faults: dict[str, int] | None
    steps: int | None
    states: int | None
    late: bool
    show: str


class OperationData(TypedDict):
    """An operation at these settings: what it does, what was seen of it, what to do instead, and afterwards."""

    operation: str
    title: str
    outcome: str
    findings: list[str]
    evidence: list[SeenData]
    elsewhere: list[SeenData]
    instead: str
    avoid: list[str]
    after: str | None
    show: str | None
    page: str | None
    measure: str | None
    unmodelled: str | None


class AdviceData(TypedDict):
    """`advise`."""

    format: int
    settings: Values
    assumed: list[str]
    searched: bool
    why: str
    operations: list[OperationData]
    crashes: CrashesData | None
    released: ReleasedData | None
    findings: list[AppliesData]
    changes: list[ChangeData]
