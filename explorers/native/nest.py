"""The loops over an action's parameters, with each guard as far out as its names allow."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from fencepost.explorers.native.writer import Writer
from fencepost.model.language.domains import BitSet, InFlight, Member
from fencepost.model.language.records import BagOf, fields

if TYPE_CHECKING:
    from fencepost.explorers.native.generate import Module
    from fencepost.model.language.actions import Action
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.subset import Function, Program


class Nest:
    """The nest of loops over an action's parameters, with each guard as far out as its names allow.

    Guards keep their order, so one that protects the next still does. Locals are computed where a guard first needs them.
    """

    def __init__(self, module: Module, made: Function, item: Action) -> None:
        self.module, self.made, self.item = module, made, item
        self.writer = Writer(module.emitter, made)
        self.domains = dict(zip(list(made.params)[2:], (domain for _, domain in item.params), strict=True))
        self.open: list[str] = []
        self.counters: dict[ast.stmt, int] = {}
        for guard in made.node.body[: made.guards]:
            if is_guard(guard):
                self.counters[guard] = len(module.guards)
                module.guards.append((item.name, ast.unparse(guard.value.args[0])))  # type: ignore[attr-defined]

    def lines(self, innermost: list[str]) -> list[str]:
        """Return the whole nest."""
        combinations = 1
        for domain in self.domains.values():
            combinations *= self.most(domain)
        self.module.most_successors += combinations
        statements = _split(self.made.node.body[: self.made.guards])
        simple = all(is_guard(item) or isinstance(item, ast.Assign) for item in statements)
        targets = [item.targets[0].id for item in statements if isinstance(item, ast.Assign)]  # type: ignore[attr-defined]
        if not simple or len(set(targets)) != len(targets):
            return self.plain(statements, innermost)
        waiting = {item.targets[0].id: item for item in statements if isinstance(item, ast.Assign)}  # type: ignore[attr-defined]
        guards = [item for item in statements if is_guard(item)]
        return self.nest(guards, waiting, innermost)

    def nest(self, guards: list[ast.stmt], waiting: dict[str, ast.Assign], innermost: list[str]) -> list[str]:
        """Return the nest from the next guard inwards."""
        if not guards:
            return self.enter([name for name in self.domains if name not in self.open], lambda: innermost)
        guard, rest = guards[0], guards[1:]
        needed = _names(guard)
        order: list[str] = []
        self.collect(needed, waiting, order)
        wanted = set(needed)
        for name in order:
            wanted |= _names(waiting[name].value)
        missing = [name for name in self.domains if name in wanted and name not in self.open]

        def inside() -> list[str]:
            lines = [line for name in order for line in self.writer.statement(waiting[name])]
            left = {name: item for name, item in waiting.items() if name not in order}
            return [*lines, *self.test(guard, self.nest(rest, left, innermost))]

        return self.enter(missing, inside)

    def collect(self, needed: set[str], waiting: dict[str, ast.Assign], order: list[str]) -> None:
        """List the locals that are needed and not computed yet, each after those it needs itself."""
        for name, item in waiting.items():
            if name in needed and name not in order:
                self.collect(_names(item.value), waiting, order)
                order.append(name)

    def plain(self, statements: list[ast.stmt], innermost: list[str]) -> list[str]:
        """Return the nest with all loops outside, for guard parts with more than assignments."""

        def inside(rest: list[ast.stmt]) -> list[str]:
            if not rest:
                return innermost
            if is_guard(rest[0]):
                return self.test(rest[0], inside(rest[1:]))
            return [*self.writer.statement(rest[0]), *inside(rest[1:])]

        return self.enter(list(self.domains), lambda: inside(statements))

    def test(self, guard: ast.stmt, lines: list[str]) -> list[str]:
        """Return `if guard: lines`, counting refusals, each for all the parameters not chosen yet."""
        assert isinstance(guard, ast.Expr)
        assert isinstance(guard.value, ast.Call)
        condition = guard.value.args[0]
        times = " * ".join(self.count(domain) for name, domain in self.domains.items() if name not in self.open) or "1"
        return [
            f"if {self.writer.expression(condition)}:",
            *("    " + line for line in lines),
            "else:",
            f"    _r{self.counters[guard]} += {times}",
        ]

    def enter(self, names: list[str], inside: Any) -> list[str]:
        """Open loops over parameters around what is inside."""
        if not names:
            found: list[str] = inside()
            return found
        name, rest = names[0], names[1:]
        domain = self.domains[name]
        self.open.append(name)
        if isinstance(domain, InFlight):
            s = next(iter(self.made.params))
            suffix = self.module.emitter.bag(_bag_of(self.module.program, domain))
            head = [
                f"for _{name} in range({s}.{domain.bag}.count):",
                f"    {name} = {s}.{domain.bag}.items[_{name}]",
                f"    if _{name} == 0 or not same_{suffix}({name}, {s}.{domain.bag}.items[_{name} - 1]):",
            ]
            lines = [*head, *("        " + line for line in self.enter(rest, inside))]
        else:
            low, high = self.span(domain)
            lines = [f"for {name} in range({low}, {high}):", *("    " + line for line in self.enter(rest, inside))]
        self.open.remove(name)
        return lines

    def span(self, domain: Domain) -> tuple[str, str]:
        """Return the range of a parameter as text; NONE is no choice."""
        if isinstance(domain, BitSet | Member):
            low, high = domain.bounds(self.module.checks.rooms)
            if isinstance(domain, Member) or not self.module.checks.size(domain.count).startswith("_e"):
                return str(low), str(high + 1)
        low_text, high_text = self.module.checks.bounds(domain)
        fixed = getattr(domain, "high", 1)
        text = self.module.checks.size(fixed + 1)
        high_text = text if not text.startswith("_e") and not isinstance(domain, BitSet) else f"{high_text} + 1"
        lowest = getattr(domain, "low", 0)
        if isinstance(lowest, int):
            return str(max(lowest, 0) if lowest == -1 else lowest), high_text
        return low_text, high_text

    def count(self, domain: Domain | InFlight) -> str:
        """Return how many values a parameter has, as text."""
        if isinstance(domain, InFlight):
            suffix = self.module.emitter.bag(_bag_of(self.module.program, domain))
            return f"distinct_{suffix}({next(iter(self.made.params))}.{domain.bag})"
        low, high = self.span(domain)
        return high if low == "0" and "+" not in high else f"({high} - {low})"

    def most(self, domain: Domain | InFlight) -> int:
        """Return how many values a parameter has at most."""
        rooms = self.module.checks.rooms
        if isinstance(domain, InFlight):
            field = dict(fields(self.module.program.machine.state))[domain.bag]
            assert isinstance(field, BagOf)
            return field.room.value(rooms)
        low, high = domain.bounds(rooms)
        return max(0, high - max(low, 0) + 1) if low == -1 else max(0, high - low + 1)


def _bag_of(program: Program, domain: InFlight) -> Any:
    field = dict(fields(program.machine.state))[domain.bag]
    assert isinstance(field, BagOf)
    return field.record


def is_guard(statement: ast.stmt) -> bool:
    """Say whether a statement is a `require`."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id == "require"
    )


def _split(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements with `a, b = x, y` as two, where the second does not read the first's target."""
    found: list[ast.stmt] = []
    for item in statements:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Tuple) and isinstance(item.value, ast.Tuple):
            names = {name.id for name in item.targets[0].elts if isinstance(name, ast.Name)}
            if not names & set().union(*(_names(value) for value in item.value.elts)):
                pairs = zip(item.targets[0].elts, item.value.elts, strict=True)
                found += [ast.copy_location(ast.Assign([name], value), item) for name, value in pairs]
                continue
        found.append(item)
    return found


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
