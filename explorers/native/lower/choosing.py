"""Code for the loops over the parameters of an action."""

from collections.abc import Callable, Sequence

from fencepost.explorers.native.llvm.builder import Builder, counted
from fencepost.explorers.native.llvm.types import Struct, Type, Value, Vector, number
from fencepost.explorers.native.lower.code import Code
from fencepost.explorers.native.lower.module import CHECKS, PLAIN, Module
from fencepost.explorers.program.ir.nest import nest
from fencepost.explorers.program.ir.nodes import Slot
from fencepost.explorers.program.ir.program import Parameter
from fencepost.model.language.domains import Domain, InFlight


class Choosing:
    """A function that loops over the values of an action's parameters in each state of a block. The function's first
    arguments are the check array, the constants and the states.
    """

    def __init__(self, module: Module, place: int, name: str, kinds: Sequence[Type]) -> None:
        self.module, self.place = module, place
        self.action = module.program.actions[place]
        self.made = module.program.of(self.action)
        self.nest = nest(module.program, self.action)
        self.name = name
        kinds = [CHECKS, module.constants, Vector(module.state, 0), *kinds]
        self.build = Builder(name, kinds, attributes=f"noinline {PLAIN}")
        self.build.owned(0)
        self.e, self.c, self.states, *self.more = self.build.arguments
        self.code = Code(module, self.build, self.e, self.c)
        self.values: dict[Slot, Value] = {}
        self.state = self.at = self.e

    def where_there_are_values(self, otherwise: str) -> None:
        """Continue if every parameter has at least one value, otherwise skip all guards."""
        build, shape = self.build, self.module.shape
        for parameter in self.nest.parameters:
            if isinstance(parameter.domain, InFlight):
                some = build.compared(">", self.module.bags.count(build, self.bag(parameter.domain)), number(0))
            elif shape.least(parameter.domain) <= 0:
                some = build.compared("<=", *self.span(parameter.domain))
            else:
                continue
            following = build.label()
            build.branch(some, following, otherwise)
            build.begin(following)

    def bag(self, domain: InFlight) -> Value:
        address, memory = self.build.field(self.state, domain.bag)
        assert isinstance(memory, Struct)
        return Value(address, memory)

    def span(self, domain: Domain) -> tuple[Value, Value]:
        shape = self.module.shape
        return shape.first(self.build, self.e, domain), shape.bound(self.build, self.e, domain, high=True)

    def choices(self, parameter: Parameter) -> Value:
        build = self.build
        if isinstance(parameter.domain, InFlight):
            return self.module.bags.distinct(build, self.bag(parameter.domain))
        first, last = self.span(parameter.domain)
        return build.wrapped("+", build.wrapped("-", last, first), number(1))

    def over(self, parameter: Parameter, inside: Callable[[str], None]) -> None:
        build = self.build
        if isinstance(parameter.domain, InFlight):
            bag, bags = self.bag(parameter.domain), self.module.bags
            with counted(build, number(0), bags.count(build, bag)) as item:
                message = bags.item(build, bag, item.at)
                other, new = build.label(), build.label()
                build.branch(build.compared("==", item.at, number(0)), new, other)
                build.begin(other)
                previous = bags.item(build, bag, build.wrapped("-", item.at, number(1)))
                build.branch(bags.same(build, message, previous), item.following, new)
                build.begin(new)
                self.choose(parameter, message)
                inside(item.following)
            return
        first, last = self.span(parameter.domain)
        with counted(build, first, build.wrapped("+", last, number(1))) as item:
            self.choose(parameter, item.at)
            inside(item.following)

    def choose(self, parameter: Parameter, value: Value) -> None:
        self.values[parameter.slot] = value
        self.code.bind(parameter.slot, value)
