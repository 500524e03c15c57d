"""An action as nested loops over its parameters, with each guard in the outermost possible loop."""

from dataclasses import dataclass

from fencepost.explorers.program.ir.nodes import Assign, Block, Call, Literal, Node, Require, Slot
from fencepost.explorers.program.ir.program import Action, Guard, Parameter, Program, inside, locals_read


@dataclass(frozen=True, slots=True, eq=False)
class Over:
    """A loop over the values of a parameter. The later steps form the body of the loop."""

    parameter: Parameter


@dataclass(frozen=True, slots=True, eq=False)
class Compute:
    """Statements that run before the later steps and compute the slots that a guard needs."""

    statements: Block


@dataclass(frozen=True, slots=True, eq=False)
class Guarded:
    """A guard. If it does not hold, the later steps are skipped, and a refusal is counted for each combination of
    values of the parameters that are not chosen yet.
    """

    guard: Guard
    statement: Require
    unchosen: tuple[Parameter, ...]

    @property
    def never_holds(self) -> bool:
        return isinstance(self.statement.condition, Literal) and not self.statement.condition.value


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Execution of an action in a state, as a list of steps, each of which is nested in the previous one. The innermost
    step, `effect`, runs the body without guards on a copy of the state. If a parameter has no values, nothing runs.
    """

    parameters: tuple[Parameter, ...]
    steps: tuple[Over | Compute | Guarded, ...]
    effect: Block

    @property
    def never_acts(self) -> bool:
        return any(isinstance(item, Guarded) and item.never_holds for item in self.steps)


def nest(program: Program, action: Action) -> Nest:
    """Return an action as nested loops.

    Guards keep their order, because a guard may prevent errors in later guards. A local variable is computed where a
    guard first needs it. A variable whose computation can fail is computed before the guards that follow the variable
    in the source, as in the plain semantics.
    """
    function = program.of(action)
    effect = tuple(item for item in function.body if not isinstance(item, Require))
    return Nest(action.parameters, tuple(Nesting(program, action).steps()), effect)


class Nesting:
    def __init__(self, program: Program, action: Action) -> None:
        self.program, self.action = program, action
        self.prefix = program.of(action).body[: action.prefix]
        self.by_slot = {item.slot: item for item in action.parameters}
        self.chosen: list[Parameter] = []
        self.found: list[Over | Compute | Guarded] = []

    def steps(self) -> list[Over | Compute | Guarded]:
        names = [item.slot for item in self.prefix if isinstance(item, Assign)]
        simple = all(isinstance(item, Assign | Require) for item in self.prefix) and len(set(names)) == len(names)
        if simple:
            self.hoisted()
        else:
            self.plain()
        self.choose(set(self.by_slot))
        return self.found

    def plain(self) -> None:
        """Put all loops outside the unchanged guards, because there are statements other than assignments."""
        self.choose(set(self.by_slot))
        for item in self.prefix:
            if isinstance(item, Require):
                self.test(item)
            else:
                self.found.append(Compute((item,)))

    def hoisted(self) -> None:
        waiting: dict[Slot, Assign] = {}
        for item in self.prefix:
            if isinstance(item, Assign):
                waiting[item.slot] = item
                continue
            assert isinstance(item, Require)
            needed = locals_read(item) | {slot for slot, local in waiting.items() if can_fail(self.program, local)}
            order: list[Assign] = []
            self.collect(needed, waiting, order)
            self.choose(needed.union(*map(locals_read, order)))
            if order:
                self.found.append(Compute(tuple(order)))
            for local in order:
                del waiting[local.slot]
            self.test(item)

    def collect(self, needed: set[Slot], waiting: dict[Slot, Assign], order: list[Assign]) -> None:
        """List the local variables that still have to be computed, each after the variables on which it depends."""
        for slot, local in waiting.items():
            if slot in needed and local not in order:
                self.collect(locals_read(local), waiting, order)
                order.append(local)

    def choose(self, slots: set[Slot]) -> None:
        for item in self.action.parameters:
            if item.slot in slots and item not in self.chosen:
                self.chosen.append(item)
                self.found.append(Over(item))

    def test(self, statement: Require) -> None:
        unchosen = tuple(item for item in self.action.parameters if item not in self.chosen)
        self.found.append(Guarded(self.action.guards[statement.number], statement, unchosen))


def can_fail(program: Program, node: Node) -> bool:
    every = inside([node])
    return any(item.checks or (isinstance(item, Call) and program.functions[item.function].can_fail) for item in every)
