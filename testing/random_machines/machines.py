"""Whole random machines, as the text of a model file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fencepost.testing.random_machines.expressions import LOCALS, Helper, Scope, one_in
from fencepost.testing.random_machines.schema import records
from fencepost.testing.random_machines.statements import Statements, indented

if TYPE_CHECKING:
    from fencepost.testing.random_machines.choices import Choices

HEAD = '''"""A random machine."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE, Array, Bag, BitSet, Channel, Constants, InFlight, Index, Machine, Per, Range, Record, Size, action, always, at_most, bits, bound,
    capacity, choice, choose, eventually, fits, largest, leads_to, require, shape, smallest, sometimes, step, strong, switch, weak,
)


class Mood(IntEnum):
    A = 0
    B = 1
    C = 2


class Sour(IntEnum):
    BAD = -1
    FAIR = 0
    GOOD = 1


class C(Constants):
    n = shape({n}, low=1, high=3, meaning="things")
    k = capacity({k}, low=1, high=4, room=3, meaning="room")
    b = bound({b}, low=0, high=3, meaning="a bound")
    on = switch(default={on}, meaning="a switch")
    mood = choice(Mood.{mood}, meaning="a choice")


FOUR = 4
SOME = (0, 2, Sour.BAD)
RARE = frozenset({{1, 3}})
Small = Annotated[int, Range(-3, 3)]
Offset = Annotated[int, Range(0, C.k)]
Thing = Annotated[int, Index(C.n)]
MaybeThing = Annotated[int, Index(C.n, none=True)]
Things = Annotated[int, BitSet(C.n)]
Large = Annotated[int, Range(-1000000, 1000000)]
Wide = Annotated[int, Range(-4611686018427387903, 4611686018427387903)]
Counter = Annotated[int, Range(0, 3)]
Place = Annotated[int, Range(0, C.n * -1 + 6)]
Turn = Annotated[int, Range(0, 5)]
Twice = Annotated[int, Range(0, 2 * C.k - 1)]
Widest = Annotated[int, Range(0, largest(C.k, C.n) + 1)]
'''
PARAMETERS = [
    ("Thing", "c.n"),
    ("MaybeThing", "c.n"),
    ("Range(-1, 1)", ""),
    ("Range(0, C.b)", ""),
    ("Mood", ""),
    ("Things", ""),
    ("bool", ""),
]
"""Domains of parameters, with the length that their values stay below."""


class Author:
    """Draws one machine."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.records = records(choices)
        self.state = self.records[-1]
        self.has_bag = any(kind.bag for _, kind in self.state.fields)
        self.helpers: list[Helper] = []
        self.given: dict[str, tuple[str, dict[str, str], bool]] = {}
        """By action: its parameters as text, those that are numbers, whether it receives a message."""
        self.daring = choices.chance(60)
        """Whether anything may go wrong: else, nearly nothing does."""
        self.statements = Statements(choices, self.helpers, self.records, daring=self.daring)
        self.expressions = self.statements.expressions

    def text(self) -> str:
        """Return the whole file."""
        choices = self.choices
        parts = [
            HEAD.format(
                n=choices.pick([2, 1, 3]),
                k=choices.pick([2, 1, 3, 4]),
                b=choices.below(3),
                on=choices.pick([False, True]),
                mood=choices.pick("ABC"),
            ),
            *(self.records[number].text for number in (0, 2, 1, 3)),
        ]
        parts += [
            self.helper(number, 1 if number == 0 and choices.chance(75) else choices.below(8))
            for number in range(choices.below(5))
        ]
        parts.append(self.initial())
        names = [f"act{number}" for number in range(1 + choices.below(3))]
        parts += [self.action(name) for name in names]
        movers = {"moves": self.moves, "turns": self.turns, "spends": self.spends}
        for name in list(movers)[: 2 + choices.below(2)]:
            parts.append(movers[name]())
            names.append(name)
            self.given.setdefault(name, (", t" if name == "moves" else "", {"t": "c.n"} if name == "moves" else {}, False))
        properties = [self.property(number, names) for number in range(choices.below(4))]
        if choices.chance(20):
            properties.append(("comes", self.behaviour(names)))
        if choices.chance(12):
            properties.append(("costs", self.cost(names)))
        if choices.chance(8):
            properties.append(("ends", self.end()))
        parts += [text for _, text in properties]
        normal = self.normalize() if choices.chance(30) else ""
        parts.append(normal)
        more = ", normalize=normalize" if normal else ""
        parts.append(f'MACHINE = Machine("random", "A random machine", State, C, initial, ({", ".join(names)},){more})')
        parts.append(f"PROPERTIES = ({''.join(f'{name}, ' for name, _ in properties)})")
        text = "\n\n\n".join(part for part in parts if part) + "\n"
        text = self.with_two_bags(text) if self.has_bag and one_in(7, text) else text
        return re.sub(r"\bt\b", "action", text) if one_in(13, text) else text

    def with_two_bags(self, text: str) -> str:
        """Return a machine with a second bag, to which a helper moves messages of the first."""
        field = next(name for name, kind in self.records[2].fields if kind.domain is not None)
        text = re.sub(r"(    box: (.*)\n)", r"\1    spare: \2\n", text)
        size = next(kind.size for _, kind in self.state.fields if kind.bag)
        lines = ["for m in one:", f"    x = m.{field}", f"    if x != c.b and len(other) < {size}:"]
        lines += ["        one.remove(m)", f"        other.add({field}=x)"]
        lines += ["for m in other:", f"    if m.{field} == c.n:", f"        m.{field} = 0"]
        helper = "\n".join(["def sorts(one, other, c):", *indented(lines)])
        text = text.replace("\n@action", f"\n{helper}\n\n\n@action", 1)
        return re.sub(r"(def turns.*\n    .*\n(    require.*\n)?)", r"\1    sorts(s.box, s.spare, c)\n", text)

    def scope(self, *, effects: bool) -> Scope:
        """Return the scope of a function of the state."""
        return Scope(records={"s": self.state}, fixed={"s", "c"}, effects=effects, ghosts=effects)

    def helper(self, number: int, what: int) -> str:
        """Return a helper."""
        inner, outer = self.records[0], self.records[1]
        named = [["free", "memcpy"], ["log", "exit"], ["main", "malloc"], ["printf", "pow"], ["row", "effect0"]][number]
        name = self.choices.pick([f"help{number}", f"f{number}", *named])
        v = self.choices.pick(["v", "a", "x"])
        scope = self.scope(effects=False)
        if what == 0:  # a number of the state and a number
            scope.numbers[v] = ""
            scope.fixed |= {v}
            body = [*(self.locals(scope) if self.choices.chance(40) else []), *self.early(scope)]
            value = f"{'w + ' if 'w' in scope.numbers else ''}{self.expressions.number(scope, 2)}"
            lines = [f"def {name}(s, c, {v}):", *indented([*body, f"return {value}"])]
            made = Helper(name, ["State", "C", "int"], effect=False, returns="int")
        elif what == 1:  # counts on, and gives a number
            scope.effects = True
            place = self.expressions.scalar(scope, 0, written=True)
            assert place is not None
            step = f"{place[0]} = {place[0]} + 1 if {place[0]} < {place[1].high} else {place[1].low}"
            lines = [f"def {name}(s, c):", *indented([step, f"return {self.expressions.number(scope, 1)}"])]
            made = Helper(name, ["State", "C"], effect=True, returns="int")
        elif what == 2:  # a record of the state
            scope.numbers[v] = ""
            scope.fixed |= {v}
            one, other = self.expressions.record(scope, "R"), self.expressions.record(scope, "R")
            assert one is not None
            assert other is not None
            lines = [
                f"def {name}(s, c, {v}):",
                *indented([f"if {self.expressions.condition(scope, 1)}:", f"    return {other}", f"return {one}"]),
            ]
            made = Helper(name, ["State", "C", "int"], effect=False, returns="R")
        elif what == 3:  # changes a record
            record = self.choices.pick([outer, inner])
            scope = Scope(records={"r": record}, numbers={v: ""}, fixed={"r", "c", v}, effects=True)
            lines = [f"def {name}(r, c, {v}):", *indented(self.statements.block(scope, 1, 2))]
            made = Helper(name, [record.name, "C", "int"], effect=True, returns=None)
        elif what == 6:
            lines, made = self.pair(name, v, scope)
        elif what == 7:
            lines, made = self.both(name, v, scope)
        elif what == 4 and self.has_bag:  # sends
            scope.numbers[v] = ""
            scope.fixed |= {v}
            lines = [f"def {name}(s, c, {v}):", *indented(self.statements.add(scope, 0))]
            made = Helper(name, ["State", "C", "int"], effect=True, returns=None)
        else:  # a number of a record
            record = self.choices.pick([outer, inner])
            scope = Scope(records={"r": record}, fixed={"r", "c"})
            lines = [f"def {name}(r, c):", *indented([*self.early(scope), f"return {self.expressions.number(scope, 2)}"])]
            made = Helper(name, [record.name, "C"], effect=False, returns="int")
        self.helpers.append(made)
        return "\n".join(lines)

    def pair(self, name: str, v: str, scope: Scope) -> tuple[list[str], Helper]:
        """Return a helper that gives two numbers."""
        scope.numbers[v] = ""
        scope.fixed |= {v}
        pairs = [f"{self.expressions.number(scope, 1)}, {self.expressions.number(scope, 1)}" for _ in range(2)]
        early = [f"if {self.expressions.condition(scope, 1)}:", f"    return {pairs[0]}"] if self.choices.chance(50) else []
        lines = [f"def {name}(s, c, {v}):", *indented([*early, f"return {pairs[1]}"])]
        return lines, Helper(name, ["State", "C", "int"], effect=False, returns="pair")

    def both(self, name: str, v: str, scope: Scope) -> tuple[list[str], Helper]:
        """Return a helper that gives a number and a record."""
        scope.numbers[v] = ""
        scope.fixed |= {v}
        place = self.expressions.record(scope, "R")
        lines = [f"def {name}(s, c, {v}):", *indented([f"return {self.expressions.number(scope, 1)}, {place}"])]
        return lines, Helper(name, ["State", "C", "int"], effect=False, returns="both")

    def early(self, scope: Scope) -> list[str]:
        """Return an early return, or a loop with one, or nothing."""
        if self.choices.chance(25):
            test, value = self.expressions.condition(scope, 1), self.expressions.number(scope, 1)
            if one_in(2, test + value):
                return [f"if {test}:", f"    return {value}"]
            scope.numbers["w"] = ""
            return ["w = 0", f"if {test}:", "    w = 1", f"    return w + {value}"]
        if self.choices.chance(25):
            source, kind, below = self.expressions.source(scope, 1)
            inner = scope.inner()
            name = self.choices.pick([item for item in LOCALS if item not in scope.fixed and item not in scope.numbers])
            self.expressions.bind(inner, name, kind, below)
            return [
                f"for {name} in {source}:",
                f"    if {self.expressions.condition(inner, 1)}:",
                f"        return {self.expressions.number(inner, 1)}",
            ]
        return []

    def initial(self) -> str:
        """Return the initial action."""
        scope = self.scope(effects=True)
        lines = ['"""Begin."""']
        given = ""
        if self.choices.chance(30):
            given = ", v"
            scope.numbers["v"] = ""
            scope.fixed |= {"v"}
        lines.append(f"s.moves_left = {self.choices.below(3)}")
        for _ in range(self.choices.below(4)):
            lines += self.statements.store(scope, 0)
        for _ in range(self.choices.below(3)):
            lines += self.statements.add(scope, 0)
        return "\n".join(
            ["@action(" + ("v=Range(0, 1)" if given else "") + ")", f"def initial(s, c{given}):", *indented(lines)]
        )

    def action(self, name: str) -> str:
        """Return an action."""
        scope = self.scope(effects=False)
        domains = []
        for parameter in self.choices.pick([[], ["t"], ["t", "u"], ["v"], ["count", "entry"], ["self"]]):
            domain, below = self.choices.pick(PARAMETERS)
            domains.append(f"{parameter}={domain}")
            scope.numbers[parameter] = below
            scope.fixed.add(parameter)
        received = self.has_bag and self.choices.chance(35)
        if received:
            domains.append('m=InFlight("box")')
            scope.records["m"] = self.records[2]
            scope.fixed.add("m")
            scope.received.add("m")
        first = dict(scope.numbers)
        lines = ['"""Go on."""', "require(s.pc < 3, bound=C.n)"]
        drawn = []
        for other in ("d1", "d2"):
            if self.choices.chance(15):
                domain, below = self.choices.pick(PARAMETERS)
                drawn.append(other)
                lines.append(f"{other} = choose({domain})")
                scope.numbers[other] = first[other] = below
                scope.fixed.add(other)
            if other == "d1":
                lines += self.guards(scope)
        scope.effects = True
        self.statements.added = False
        if received and self.choices.chance(70):
            lines += ["s.box.remove(m)"] * (2 if self.expressions.dares(15) else 1)
        lines.append("s.pc += 1")
        lines += map(fitting, self.statements.block(scope, 2, 4))
        names = "".join(f", {item.split('=')[0]}" for item in domains)
        self.given[name] = (
            names + "".join(f", {other}" for other in drawn),
            dict(scope.numbers.items() & first.items()),
            received,
        )
        return "\n".join([f"@action({', '.join(domains)})", f"def {name}(s, c{names}):", *indented(lines)])

    def moves(self) -> str:
        """Return an action that moves one of the things on: so states are many."""
        scope = self.scope(effects=True)
        scope.numbers["t"] = "c.n"
        scope.fixed.add("t")
        more = self.statements.store(scope, 0) if self.choices.chance(15) else []
        lines = ['"""Move."""', "require(s.at[t] < 6 - c.n)", "s.at[t] += 1", *more]
        return "\n".join(["@action(t=Thing)", "def moves(s, c, t):", *indented(lines)])

    def turns(self) -> str:
        """Return an action that goes round."""
        turns = self.choices.pick([6, 4, 5, 3])
        guard = [f"require({self.expressions.condition(self.scope(effects=False), 1)} or s.turn > 0)"] * self.choices.chance(30)
        lines = ['"""Turn."""', *guard, f"s.turn = s.turn + 1 if s.turn < {turns - 1} else 0"]
        return "\n".join(["@action()", "def turns(s, c):", *indented(lines)])

    def spends(self) -> str:
        """Return an action that spends from a budget."""
        lines = ['"""Spend."""', "require(s.moves_left > 0, bound=C.b)", "s.moves_left -= 1"]
        lines += self.statements.store(self.scope(effects=True), 0)
        return "\n".join(["@action()", "def spends(s, c):", *indented(lines)])

    def guards(self, scope: Scope) -> list[str]:
        """Return guards and locals that they read."""
        lines: list[str] = []
        for _ in range(self.choices.pick([0, 0, 1, 1, 2, 3])):
            if self.choices.chance(30):
                lines += self.locals(scope)
            weaker = f" or {self.expressions.condition(scope, 1)}" if self.choices.chance(40) else ""
            weaker += f" or s.turn == {self.choices.below(4)}" if self.choices.chance(60) else ""
            guard = bounded(f"require({self.expressions.condition(scope, 2)}{weaker})")
            if lines and lines[-1].startswith("require") and self.choices.chance(15):
                lines[-1] += f"; {guard}"
            else:
                lines.append(guard)
        return lines

    def locals(self, scope: Scope) -> list[str]:
        """Return statements that assign locals, and write nothing."""
        what = self.choices.below(4)
        if what == 0:
            return self.statements.local(scope, 0)
        if what == 1:
            return self.statements.reference(scope, 0)
        if what == 2:
            return self.statements.tuple(scope, 0)
        source, kind, below = self.expressions.source(scope, 1)
        name = self.statements.target(scope)
        inner = scope.inner()
        item = self.choices.pick(
            [other for other in LOCALS if other not in (name, *scope.fixed, *scope.numbers, *scope.records)] or ["z"]
        )
        self.expressions.bind(inner, item, kind, below)
        scope.numbers[name] = ""
        inner.numbers[name] = ""
        return [f"{name} = 0", f"for {item} in {source}:", f"    {name} += {self.expressions.number(inner, 1)}"]

    def property(self, number: int, actions: list[str]) -> tuple[str, str]:
        """Return a property: its name and its text."""
        what = self.choices.below(4)
        name = f"prop{number}"
        if what in (0, 1):
            scope = self.scope(effects=False)
            word = ["@always", "@sometimes"][what]
            head = f"def {name}(s, c):"
        else:
            scope = Scope(
                records={"before": self.state, "after": self.state, "s": self.state}, fixed={"before", "after", "s", "c"}
            )
            word = "@step()" if what == 2 else "@sometimes"
            head = f"def {name}(before, after, c):"
            if what == 2 and self.choices.chance(50):
                on = self.choices.pick(actions)
                names, numbers, received = self.given[on]
                word, head = f"@step(on={on})", f"def {name}(before, after, c{names}):"
                scope.numbers.update(numbers)
                scope.fixed |= set(numbers)
                if received:
                    scope.records["m"] = self.records[2]
                    scope.fixed.add("m")
        if self.choices.chance(25) and "which" not in scope.numbers:
            domain, below = self.choices.pick(PARAMETERS)
            inner = word.partition("(")[2].rstrip(")")
            word = f"{word.partition('(')[0]}({inner}{', ' if inner else ''}which={domain})"
            head = f"{head[:-2]}, which):"
            scope.numbers["which"] = below
            scope.fixed.add("which")
        lines = ['"""A property."""']
        scope.ghosts = True
        if what >= 2:
            lines.append("s = after")
        if self.choices.chance(40):
            lines += self.locals(scope)
        lines.append(f"return {self.expressions.condition(scope, 3)}")
        return name, "\n".join([word, head, *indented(lines)])

    def behaviour(self, actions: list[str]) -> str:
        """Return a property of whole behaviours, with a parameter."""
        parts = []
        for word in ("when", "then"):
            scope = self.scope(effects=False)
            scope.numbers["t"] = "c.n"
            scope.fixed.add("t")
            parts.append(f"def {word}(s, c, t):\n    return {self.expressions.condition(scope, 3)}")
        made = (
            f'comes = leads_to("comes", "It comes.", when=when, then=then, {self.promises(actions)}, '
            f"t={self.choices.pick(['Thing', 'MaybeThing'])})"
        )
        return "\n\n\n".join([*parts, made])

    def promises(self, actions: list[str]) -> str:
        """Return what is fair, and what does not happen any more."""
        fair = []
        for _ in range(1 + self.choices.below(2)):
            each = ', each="t"' if self.choices.chance(50) else ""
            name = "moves" if each else self.choices.pick(actions)
            if self.given[name][2]:
                field = next(name for name, kind in self.records[2].fields if kind.domain is not None)
                each = self.choices.pick(["", ', each="m"', f', each="m.{field}"'])
            fair.append(f"{self.choices.pick(['weak', 'strong'])}({name}{each})")
        without = f", without=({self.choices.pick(actions)},)" if self.choices.chance(30) else ""
        return f"fair=({', '.join(fair)},){without}"

    def cost(self, actions: list[str]) -> str:
        """Return a property about the cost of what is done before something comes."""
        given = self.choices.below(3)
        large = " * 2305843009213693951" if one_in(5, f"{self.records}") else ""
        costs = f"{{turns: {given}{large}, moves: C.k}}" if self.choices.chance(60) else "price"
        price = self.expressions.condition(
            Scope(records={"before": self.state, "after": self.state}, fixed={"before", "after", "c"}), 2
        )
        then = self.expressions.condition(self.scope(effects=False), 2)
        parts = [
            f"def begins(s, c):\n    return s.turn == {given}",
            f"def arrives(s, c):\n    return {then}",
            f"def price(before, after, c):\n    return {'-1' if self.expressions.dares(60) else 0} + {price}",
        ]
        bound = self.choices.pick(["", ", bound=C.k", ", bound=3"])
        made = (
            f'costs = at_most("costs", "It costs.", costs={costs}, when=begins, then=arrives, {self.promises(actions)}{bound})'
        )
        return "\n\n\n".join([*(parts if costs == "price" else parts[:2]), made])

    def end(self) -> str:
        """Return a property of all behaviours from the beginning."""
        then = self.expressions.condition(self.scope(effects=False), 2)
        text = f"def over(s, c):\n    return {then}"
        return f'{text}\n\n\nends = eventually("ends", "It ends.", then=over, fair=({self.choices.pick(["weak", "strong"])}(moves, turns),))'

    def normalize(self) -> str:
        """Return a function that drops something; doing it again changes nothing."""
        numbers = [name for name, kind in self.state.fields if kind.domain is not None]
        lines = ['"""Drop what nobody sees."""', f"if s.pc == {self.choices.below(4)}:", f"    s.{numbers[1]} = 0"]
        if self.daring and one_in(3, f"{self.records}"):
            lines.append("    s.ghost_seen = s.turn")
        messages = [name for name, kind in self.records[2].fields if kind.domain is not None]
        if self.has_bag and self.choices.chance(50):
            lines += ["for m in s.box:", f"    m.{messages[0]} = 0"]
        return "\n".join(["def normalize(s, c):", *indented(lines)])


def bounded(guard: str) -> str:
    """Return a guard that stands for a bound, or as it is: its text decides, so that nothing is drawn for it."""
    bound = ["", ", bound=C.k", ", bound=C.b", ""][sum(map(ord, guard)) % 4]
    return f"{guard[:-1]}{bound})"


def fitting(line: str) -> str:
    """Return a line of an effect; some that begin with `if` leave out what they do for the sake of a bound."""
    head, word, condition = line.partition("if ")
    if head.strip() or not word or not one_in(3, line):
        return line
    return f"{head}if fits({condition[:-1]}, bound=C.k):"


def machine_text(choices: Choices) -> str:
    """Return the text of a random machine."""
    return Author(choices).text()
