"""A function call on a symbolic state, and the interface of `Walk` for the modules that process parts of a function. A
reference is the set of places that a name may refer to, each under a condition.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.program import Function, Program
from fencepost.explorers.program.subset.places import refusal
from fencepost.explorers.symbolic.terms import Flag, Num, Value, both, bounds, choose, either, for_all, negate, number


@dataclass(frozen=True)
class Refs:
    options: tuple[tuple[Flag, Any], ...]

    @property
    def first(self) -> Any:
        return self.options[0][1]


def merge(condition: Flag, one: Any, other: Any) -> Any:
    if not isinstance(one, Refs):
        return choose(condition, one, other)
    if condition is True:
        return one
    if condition is False:
        return other
    found: dict[int, tuple[Flag, Any]] = {}
    for side, refs in ((condition, one), (negate(condition), other)):
        for on, item in refs.options:
            before = found.get(id(item), (False, item))[0]
            found[id(item)] = (either(before, both(side, on)), item)
    return Refs(tuple(found.values()))


def read(refs: Refs) -> Value:
    return asked(refs, lambda cell: cell.get())


def asked(refs: Refs, of: Callable[[Any], Value]) -> Value:
    *others, (_, last) = refs.options
    found = of(last)
    for on, place in reversed(others):
        found = choose(on, of(place), found)
    return found


class Numbers(NamedTuple):
    start: Value
    stop: Value

    @property
    def low(self) -> int | None:
        return bounds(number(self.start))[0]

    @property
    def high(self) -> int | None:
        return bounds(number(self.stop))[1]

    @property
    def is_endless(self) -> bool:
        return self.low is None or self.high is None


@dataclass(frozen=True)
class Check:
    """A condition that must hold if another condition does; otherwise the step raises DomainError."""

    where: Flag
    holds: Flag
    what: str

    @property
    def passes(self) -> Flag:
        return either(negate(self.where), self.holds)

    def for_all(self, variable: Num) -> "Check":
        return Check(True, for_all(variable, self.passes), self.what)


@dataclass
class Frame:
    made: Function
    base: Flag
    slots: dict[int, Any] = field(default_factory=dict)
    live: Flag = True
    results: list[tuple[Flag, Any]] = field(default_factory=list)
    breaks: list[Flag] = field(default_factory=list)
    continues: list[Flag] = field(default_factory=list)

    @property
    def where(self) -> Flag:
        return both(self.base, self.live)


class Walking(ABC):
    """The interface of `Walk` for expressions, folds and loops.

    `havoc_loops` determines how unbounded loops are treated (see `loops`). `forgotten` names the functions with
    unbounded loops, and `facts` constrains the variables that stand for the values that these loops wrote. With
    `havoc_loops=None`, unbounded loops are forbidden, as in properties, which must be exact. `branches` counts the
    branches that were followed on both sides.
    """

    def __init__(
        self, program: Program, constants: Mapping[str, Value], *, havoc_loops: bool | None = None, prefix: str = ""
    ) -> None:
        self.program = program
        self.constants: Mapping[str, Value] = constants
        self.havoc_loops, self.prefix = havoc_loops, prefix
        self.guards: list[Flag] = []
        self.assumed: Flag = True
        self.checks: list[Check] = []
        self.branches = self.variables = self.messages = self.quantified = 0
        self.journals: list[Any] = []
        self.facts: list[Flag] = []
        self.forgotten: dict[str, None] = {}

    def fresh_name(self) -> str:
        self.variables += 1
        return f"{self.prefix}some.{self.variables}"

    def check(self, frame: Frame, holds: Flag, what: str) -> None:
        if holds is True or frame.live is False:
            return
        self.checks.append(Check(both(self.assumed, frame.where), holds, what))

    def refuse(self, frame: Frame, node: nodes.Node, what: str, instead: str) -> NoReturn:
        raise refusal(frame.made.python, node.at, what, instead)

    @abstractmethod
    def call(self, made: Function, arguments: list[Any], where: Flag) -> Any: ...

    @abstractmethod
    def value(self, frame: Frame, node: nodes.Expression) -> Any: ...

    @abstractmethod
    def any_of(self, source: Numbers) -> tuple[Num, Flag]: ...

    @abstractmethod
    def check_up_to(self, frame: Frame, node: nodes.Node, before: int, fold: Any) -> None: ...

    @abstractmethod
    def block(self, frame: Frame, statements: nodes.Block) -> None: ...

    @abstractmethod
    def source(self, frame: Frame, node: nodes.Source) -> Numbers | Refs: ...

    @abstractmethod
    def rounds(self, frame: Frame, node: nodes.Source, source: Numbers | Refs) -> Iterator[tuple[Flag, Any]]: ...
