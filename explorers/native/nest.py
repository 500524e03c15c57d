"""The loops over an action's parameters, with each guard as far out as its names allow."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Protocol

from fencepost.explorers.native.writer import Writer
from fencepost.model.language.domains import NONE, InFlight
from fencepost.model.language.records import BagOf, fields
from fencepost.model.language.subset import is_require

if TYPE_CHECKING:
    from fencepost.explorers.native.checks import Checks
    from fencepost.explorers.native.masks import Masks
    from fencepost.explorers.native.writer import Emitting
    from fencepost.model.language.actions import Action
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.subset import Function, Program


class Generating(Protocol):
    """The module that is being written, as the loops of one action know it."""

    program: Program
    checks: Checks
    guards: list[tuple[str, str]]
    masks: Masks | None
    most_successors: int

    @property
    def emitter(self) -> Emitting:
        """What writes functions of the module."""
        ...


class Nest:
    """The nest of loops over an action's parameters, with each guard as far out as its names allow.

    Guards keep their order, so one that protects the next still does. Locals are computed where a guard first needs them,
    but never after a guard that they stand before, if computing them can go wrong: the plain semantics would say so.
    """

    def __init__(self, module: Generating, made: Function, item: Action) -> None:
        self.module, self.made, self.item = module, made, item
        self.writer = Writer(module.emitter, made)
        self.domains = dict(zip(list(made.params)[2:], (domain for _, domain in item.params), strict=True))
        self.open: list[str] = []
        self.counters: dict[ast.stmt, int] = {}
        self.written: dict[ast.stmt, list[str]] = {}
        for guard in made.node.body[: made.guards]:
            if is_require(made, guard):
                condition: ast.expr = guard.value.args[0]  # type: ignore[attr-defined]
                self.counters[guard] = len(module.guards)
                module.guards.append((item.name, ast.unparse(condition)))
                if module.masks is not None:
                    self.writer.masks.update(module.masks.reserve(condition))

    def lines(self, innermost: list[str]) -> list[str]:
        """Return the whole nest."""
        combinations = 1
        for domain in self.domains.values():
            combinations *= self.most(domain)
        self.module.most_successors += combinations
        statements = _split(self.made.node.body[: self.made.guards])
        named = [_target(item) for item in statements]
        simple = all(name or is_require(self.made, item) for name, item in zip(named, statements, strict=True))
        targets = [name for name in named if name]
        if not simple or len(set(targets)) != len(targets):
            return self.where_there_are_values(self.plain(statements, innermost))
        waiting = {name: item for name, item in zip(named, statements, strict=True) if isinstance(item, ast.Assign)}
        return self.where_there_are_values(self.nest(statements, waiting, innermost))

    def where_there_are_values(self, lines: list[str]) -> list[str]:
        """Return lines that run only where every parameter has a value: without one, no guard is evaluated."""
        s = next(iter(self.made.params))
        tests = []
        for domain in self.domains.values():
            if isinstance(domain, InFlight):
                tests.append(f"{s}.{domain.bag}.count > 0")
            elif self.module.checks.least(domain) <= 0:
                tests.append("{1} > {0}".format(*self.span(domain)))
        return [f"if {' and '.join(tests)}:", *("    " + line for line in lines)] if tests else lines

    def nest(self, statements: list[ast.stmt], waiting: dict[str, ast.Assign], innermost: list[str]) -> list[str]:
        """Return the nest from the next guard inwards."""
        position = next((n for n, item in enumerate(statements) if is_require(self.made, item)), None)
        if position is None:
            return self.enter([name for name in self.domains if name not in self.open], lambda: innermost)
        guard, rest = statements[position], statements[position + 1 :]
        risky = {_target(item) for item in statements[:position] if self.can_fail(item)} & set(waiting)
        needed = _names(guard) | risky
        order: list[str] = []
        self.collect(needed, waiting, order)
        wanted = set(needed)
        for name in order:
            wanted |= _names(waiting[name].value)
        missing = [name for name in self.domains if name in wanted and name not in self.open]

        def inside() -> list[str]:
            lines = [line for name in order for line in self.write(waiting[name])]
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
            if is_require(self.made, rest[0]):
                return self.test(rest[0], inside(rest[1:]))
            return [*self.writer.statement(rest[0]), *inside(rest[1:])]

        return self.enter(list(self.domains), lambda: inside(statements))

    def write(self, statement: ast.stmt) -> list[str]:
        """Return a local's assignment as text, written once."""
        if statement not in self.written:
            self.written[statement] = self.writer.statement(statement)
        return self.written[statement]

    def can_fail(self, statement: ast.stmt) -> bool:
        """Say whether a local's value goes through a check, here or in a function that it calls."""
        text = "\n".join(self.write(statement))
        waiting, seen = [text], {text}
        while waiting:
            text = waiting.pop()
            if re.search(r"\b_(at|put|bit|left|right|times)\(", text):
                return True
            called = set(re.findall(r"\b[fg]\d+_\w+(?=\()", text))
            found = {item for item in self.module.emitter.texts if any(f"def {name}(" in item for name in called)}
            waiting += found - seen
            seen |= found
        return False

    def test(self, guard: ast.stmt, lines: list[str]) -> list[str]:
        """Return `if guard: lines`, counting refusals, each for all the parameters not chosen yet."""
        assert isinstance(guard, ast.Expr)
        assert isinstance(guard.value, ast.Call)
        condition = guard.value.args[0]
        times = " * ".join(self.count(domain) for name, domain in self.domains.items() if name not in self.open) or "1"
        if self.module.masks is not None:
            return [
                f"_holds = {self.writer.condition(condition)}",
                *self.module.masks.unless_left(["if _holds:", *("    " + line for line in lines), "else:"], times),
                f"        _r{self.counters[guard]} += {times}",
            ]
        return [
            f"if {self.writer.condition(condition)}:",
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
                f"for _at_{name} in range({s}.{domain.bag}.count):",
                f"    {name} = {s}.{domain.bag}.items[_at_{name}]",
                f"    if _at_{name} == 0 or not same_{suffix}({name}, {s}.{domain.bag}.items[_at_{name} - 1]):",
            ]
            lines = [*head, *("        " + line for line in self.enter(rest, inside))]
        else:
            low, high = self.span(domain)
            lines = [f"for {name} in range({low}, {high}):", *("    " + line for line in self.enter(rest, inside))]
        self.open.remove(name)
        return lines

    def span(self, domain: Domain) -> tuple[str, str]:
        """Return the range of a parameter as text; NONE is no choice."""
        checks = self.module.checks
        (lowest, low), (least, high) = checks.ends(domain, "low"), checks.ends(domain, "high")
        low_text, high_text = checks.bounds(domain)
        first = str(max(low, 0) if low == NONE else low)
        if lowest != low:
            first = f"({low_text} if {low_text} != {NONE} else 0)" if lowest <= NONE <= low else low_text
        return first, str(high + 1) if least == high else f"{high_text} + 1"

    def count(self, domain: Domain | InFlight) -> str:
        """Return how many values a parameter has, as text."""
        if isinstance(domain, InFlight):
            suffix = self.module.emitter.bag(_bag_of(self.module.program, domain))
            return f"distinct_{suffix}({next(iter(self.made.params))}.{domain.bag})"
        low, high = self.span(domain)
        return high if low == "0" and "+" not in high else f"({high} - {low})"

    def most(self, domain: Domain | InFlight) -> int:
        """Return how many values a parameter has at most."""
        if isinstance(domain, InFlight):
            field = dict(fields(self.module.program.machine.state))[domain.bag]
            assert isinstance(field, BagOf)
            return self.module.checks.most(field.room)
        (low, _), (_, high) = self.module.checks.ends(domain, "low"), self.module.checks.ends(domain, "high")
        return max(0, high - (0 if low == NONE else low) + 1)


def _bag_of(program: Program, domain: InFlight) -> Any:
    field = dict(fields(program.machine.state))[domain.bag]
    assert isinstance(field, BagOf)
    return field.record


def _target(statement: ast.stmt) -> str:
    """Return the one local that a statement assigns, or an empty string."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


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
