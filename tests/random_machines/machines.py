"""Whole random machines, as the text of a model file."""

import re

from tests.random_machines.choices import Choices
from tests.random_machines.expressions import LOCALS, Helper, Scope
from tests.random_machines.schema import COUNTER, PLACE, TURN, Schema, domains
from tests.random_machines.statements import Statements, indented

HEAD = '''"""A random machine."""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    NONE, Array, Bag, BitSet, Channel, Constants, InFlight, Index, Machine, Per, Range, Record, Size, action, always,
    at_most, bits, bound, capacity, choice, choose, eventually, fits, largest, leads_to, require, shape, smallest,
    sometimes, step, strong, switch, weak,
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
    b = bound({b}, low={low}, high=3, meaning="a bound")
    on = switch(default={on}, meaning="a switch")
    mood = choice(Mood.{mood}, meaning="a choice")


FOUR = 4
SOME = (0, 2, Sour.BAD)
RARE = frozenset({{1, 3}})
'''
PARAMETERS = [
    ("Thing", "c.n", 3), ("MaybeThing", "c.n", 3), ("Range(-1, 1)", "", 3), ("Range(0, C.b)", "", 4), ("Mood", "", 3),
    ("BitSet(C.n)", "", 8), ("bool", "", 2), ("Thing", "c.n", 3), ("Range(-3, -1)", "", 3), ("Range(C.b, C.k)", "", 7),
    ("Range(C.k, C.n)", "", 3), ("Range(C.b * -1, C.n - 1)", "", 6), ("BitSet(3)", "", 8), ("Range(0, 17)", "", 18),
    ("Sour", "", 3), ("Index(C.n + 1)", "", 4), ("Range(-2, 1)", "", 4),
]  # fmt: skip
"""Domains of parameters, with the length that their values stay below, and how many values there may be."""
FEW = 3  # values of a parameter that is always possible
COMBINATIONS = 24  # combinations of parameters that an action may have


class Author:
    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.domains = domains(choices)
        self.records = Schema(choices, self.domains).records()
        self.state, self.message = self.records[-1], self.records[2]
        self.bags = [name for name, kind in self.state.fields if kind.bag]
        self.helpers: list[Helper] = []
        self.given: dict[str, tuple[str, dict[str, str], list[str]]] = {}
        """By action: its parameters as text, those that are numbers, those that are messages."""
        self.sorts = len(self.bags) > 1 and choices.chance(60)
        """Whether a helper moves messages from one bag to the other."""
        self.room = COMBINATIONS
        self.daring = choices.chance(50)  # whether anything may go wrong: else, nearly nothing does
        self.statements = Statements(choices, self.helpers, self.records, daring=self.daring)
        self.expressions = self.statements.expressions

    def text(self) -> str:
        choices = self.choices
        low = "0" if any("C.b" in domain.text for domain in self.domains) else choices.pick(["0", "0", "-2"])
        head = HEAD.format(
            n=choices.pick([2, 1, 3]), k=choices.pick([2, 1, 3, 4]), b=choices.below(3), low=low,
            on=choices.pick([False, True]), mood=choices.pick("ABC"),
        )  # fmt: skip
        known = [domain for domain in (*self.domains, COUNTER, PLACE, TURN) if domain.text]
        parts = [
            head + "".join(f"{domain.alias} = Annotated[int, {domain.text}]\n" for domain in known),
            *(self.records[number].text for number in (0, 2, 1, 3)),
        ]
        for number in range(choices.below(5)):
            what = 1 if number == 0 and choices.chance(75) else choices.below(12)
            parts.append(self.helper(number, what))
        parts += [self.sorting()] if self.sorts else []
        parts.append(self.initial())
        names = [f"act{number}" for number in range(1 + choices.below(3))]
        parts += [self.action(name) for name in names]
        movers = {"moves": self.moves, "turns": self.turns, "spends": self.spends}
        for name in list(movers)[: 2 + choices.below(2)]:
            parts.append(movers[name]())
            names.append(name)
            self.given.setdefault(name, (", t" if name == "moves" else "", {"t": "c.n"} if name == "moves" else {}, []))
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
        return re.sub(r"\bt\b", "action", text) if choices.chance(8) else text

    def sorting(self) -> str:
        """Return a helper that moves messages of one bag to another."""
        field = self.statements.fields()[0][0]
        size = next(kind.size for _, kind in self.state.fields if kind.bag)
        lines = ["for m in one:", f"    x = m.{field}", f"    if x != c.b and len(other) < {size}:"]
        lines += ["        one.remove(m)", f"        other.add({field}=x)"]
        lines += ["for m in other:", f"    if m.{field} == c.n:", f"        m.{field} = 0"]
        return defined("sorts(one, other, c)", lines)

    def parameter(self, scope: Scope, name: str) -> str:
        domain, below, values = self.choices.pick([item for item in PARAMETERS if item[2] <= max(FEW, self.room)])
        self.room //= values
        scope.give(name, below=below)
        return domain

    def scope(self, *, effects: bool) -> Scope:
        return Scope(records={"s": self.state}, fixed={"s", "c"}, effects=effects, ghosts=effects)

    def helper(self, number: int, what: int) -> str:
        inner, outer = self.records[0], self.records[1]
        named = [["free", "memcpy"], ["log", "exit"], ["main", "malloc"], ["printf", "pow"], ["row", "effect0"]][number]
        name = self.choices.pick([f"help{number}", f"f{number}", *named])
        v = self.choices.pick(["v", "a", "x"])
        scope = self.scope(effects=False)
        returns: str | None
        given, kinds, returns = f"s, c, {v}", ["State", "C", "int"], "int"
        effect = what in (1, 3, 4, 9)
        if what == 0:  # a number of the state and a number
            scope.give(v)
            body = [*(self.locals(scope) if self.choices.chance(40) else []), *self.early(scope)]
            body.append(f"return {'w + ' if 'w' in scope.numbers else ''}{self.expressions.number(scope, 2)}")
        elif what == 1:  # counts on, and gives a number
            scope.effects, given, kinds = True, "s, c", ["State", "C"]
            place = self.expressions.scalar(scope, 0, written=True)
            body = [f"{place[0]} = {place[0]} + 1 if {place[0]} < {place[1].high} else {place[1].low}"]
            body.append(f"return {self.expressions.number(scope, 1)}")
        elif what == 2:  # a record of the state
            scope.give(v)
            body, returns = self.of_state(scope)
        elif what == 3:  # changes a record
            record = self.choices.pick([outer, inner, self.message])
            scope = Scope(records={"r": record}, numbers={v: ""}, fixed={"r", "c", v}, effects=True)
            given, kinds, returns = f"r, c, {v}", [record.name, "C", "int"], None
            body = self.statements.block(scope, 1, 2)
        elif what == 6:  # two numbers, or three
            scope.give(v)
            body, returns = self.several(scope)
        elif what == 7:  # a number and a record
            scope.give(v)
            place = self.expressions.record(scope, "R")
            body, returns = [f"return {self.expressions.number(scope, 1)}, {place}"], "both"
        elif what in (8, 9):  # changes an array, or gives a number of it
            *_, kind = self.choices.pick(self.expressions.arrays(scope))
            scope = Scope(arrays={"w": kind}, fixed={"w", "c"}, effects=effect)
            given, kinds, returns = "w, c", [kind.text, "C"], None if effect else "int"
            body = self.statements.block(scope, 1, 2) if effect else [f"return {self.expressions.number(scope, 2)}"]
        elif what == 10 and any(kind.queues for _, kind in self.state.fields):
            given, kinds, body = self.of_channel()
        elif what == 4 and self.bags:  # sends
            scope.give(v)
            body, returns = self.statements.add(scope, 0), None
        else:  # a number of a record
            record = self.choices.pick([outer, inner, self.message])
            scope = Scope(records={"r": record}, fixed={"r", "c"})
            given, kinds, effect = "r, c", [record.name, "C"], False
            body = [*self.early(scope), f"return {self.expressions.number(scope, 2)}"]
        self.helpers.append(Helper(name, kinds, effect=effect, returns=returns))
        return defined(f"{name}({given})", body)

    def of_state(self, scope: Scope) -> tuple[list[str], str]:
        kind = self.choices.pick(["R", "R", "P"])
        one, other = self.expressions.record(scope, kind), self.expressions.record(scope, kind)
        test = self.expressions.condition(scope, 1)
        ways = [[f"if {test}:", f"    return {other}", f"return {one}"], [f"return {other} if {test} else {one}"]]
        return self.choices.pick(ways), kind

    def several(self, scope: Scope) -> tuple[list[str], str]:
        size = self.choices.pick([2, 3])
        one, other = (", ".join(self.expressions.number(scope, 1) for _ in range(size)) for _ in range(2))
        early = self.choices.chance(50)
        first = [f"if {self.expressions.condition(scope, 1)}:", f"    return {one}"] if early else []
        return [*first, f"return {other}"], str(size)

    def of_channel(self) -> tuple[str, list[str], list[str]]:
        """Return what is given a channel, and gives a number of it."""
        kind = next(kind for _, kind in self.state.fields if kind.queues)
        while kind.element is not None:
            kind = kind.element
        field = self.choices.pick(self.statements.fields())[0]
        value = self.choices.pick(["len(q)", f"sum(x.{field} for x in q)", f"max((x.{field} for x in q), default=-1)"])
        return "q, c", [kind.text, "C"], [f"return {value}"]

    def early(self, scope: Scope) -> list[str]:
        """Return an early return, or a loop with one, or nothing."""
        if self.choices.chance(25):
            test, value = self.expressions.condition(scope, 1), self.expressions.number(scope, 1)
            if self.choices.chance(50):
                return [f"if {test}:", f"    return {value}"]
            scope.numbers["w"] = ""
            return ["w = 0", f"if {test}:", "    w = 1", f"    return w + {value}"]
        if not self.choices.chance(25):
            return []
        source, kind, below = self.expressions.source(scope, 1)
        inner = scope.inner()
        name = self.choices.pick([item for item in LOCALS if item not in scope.fixed and item not in scope.numbers])
        self.expressions.bind(inner, name, kind, below)
        test, value = self.expressions.condition(inner, 1), self.expressions.number(inner, 1)
        return [f"for {name} in {source}:", f"    if {test}:", f"        return {value}"]

    def initial(self) -> str:
        scope = self.scope(effects=False)
        lines, given = ['"""Begin."""'], []
        if self.choices.chance(30):
            given.append("v=Range(0, 1)")
            scope.give("v")
            if self.choices.chance(40):
                given.append(f"u={self.choices.pick(['Thing', 'bool', 'Mood', 'Range(-1, 1)', 'MaybeThing'])}")
                scope.give("u")
        if self.choices.chance(25):
            weaker = self.choices.pick(["True", "v == 0" if given else "s.pc == 0"])
            lines.append(f"require({self.expressions.condition(scope, 1)} or {weaker})")
        scope.effects = True
        lines.append(f"s.moves_left = {self.choices.below(3)}")
        if len(given) > 1 and self.choices.chance(50):
            lines.append("s.turn = max(0, min(5, u))")
        for _ in range(self.choices.below(4)):
            lines += self.statements.store(scope, 0)
        for _ in range(self.choices.below(3)):
            lines += self.statements.add(scope, 0)
        names = "".join(f", {item.partition('=')[0]}" for item in given)
        return defined(f"initial(s, c{names})", lines, f"@action({', '.join(given)})")

    def action(self, name: str) -> str:
        scope = self.scope(effects=False)
        self.room = COMBINATIONS
        parameters = self.choices.pick([[], ["t"], ["t", "u"], ["v"], ["count", "entry"], ["self"], ["t", "u", "v"]])
        taken = [f"{parameter}={self.parameter(scope, parameter)}" for parameter in parameters]
        messages = []
        if self.bags and self.choices.chance(35):
            messages = ["m", "o"] if self.choices.chance(20) else ["m"]
        bags = [self.choices.pick(self.bags) for _ in messages]
        for message, bag in zip(messages, bags, strict=True):
            taken.append(f'{message}=InFlight("{bag}")')
            scope.records[message] = self.message
            scope.fixed.add(message)
            scope.received.add(message)
        first = dict(scope.numbers)
        lines = ['"""Go on."""', "require(s.pc < 3, bound=C.n)"]
        drawn = []

        def chosen(other: str) -> None:
            if self.choices.chance(15):
                drawn.append(other)
                lines.append(f"{other} = choose({self.parameter(scope, other)})")
                first[other] = scope.numbers[other]

        chosen("d1")
        lines += self.guards(scope)
        chosen("d2")
        scope.effects = True
        self.statements.added = False
        for message, bag in zip(messages, bags, strict=True):
            if self.choices.chance(70 if message == "m" else 30):
                lines += [f"s.{bag}.remove({message})"] * (2 if self.expressions.dares(15) else 1)
        lines.append("s.pc += 1")
        lines += self.fits(self.statements.block(scope, 2, 4))
        if not lines[-1].lstrip().startswith("return"):
            chosen("d3")
            lines += self.statements.store(scope, 0) if drawn[-1:] == ["d3"] else []
        names = "".join(f", {item.split('=')[0]}" for item in taken)
        self.given[name] = (
            names + "".join(f", {other}" for other in drawn),
            {known: below for known, below in first.items() if scope.numbers.get(known) == below},
            messages,
        )
        return defined(f"{name}(s, c{names})", lines, f"@action({', '.join(taken)})")

    def fits(self, lines: list[str]) -> list[str]:
        """Return lines of an effect; some that begin with `if` leave out what they do for the sake of a bound."""
        found = []
        for line in lines:
            indent, word, condition = line.partition("if ")
            bounded = word and not indent.strip() and self.choices.chance(30)
            found.append(f"{indent}if fits({condition[:-1]}, bound=C.k):" if bounded else line)
        return found

    def moves(self) -> str:
        """Return an action that moves one of the things on: so states are many."""
        scope = self.scope(effects=True)
        scope.give("t", below="c.n")
        more = self.statements.store(scope, 0) if self.choices.chance(15) else []
        lines = ['"""Move."""', "require(s.at[t] < 6 - c.n)", "s.at[t] += 1", *more]
        return defined("moves(s, c, t)", lines, "@action(t=Thing)")

    def turns(self) -> str:
        turns = self.choices.pick([6, 4, 5, 3])
        asked = f"require({self.expressions.condition(self.scope(effects=False), 1)} or s.turn > 0)"
        guard = [asked] if self.choices.chance(30) else []
        sorts = [f"sorts(s.{', s.'.join(self.bags)}, c)"] * self.sorts
        lines = ['"""Turn."""', *guard, *sorts, f"s.turn = s.turn + 1 if s.turn < {turns - 1} else 0"]
        return defined("turns(s, c)", lines, "@action()")

    def spends(self) -> str:
        lines = ['"""Spend."""', "require(s.moves_left > 0, bound=C.b)", "s.moves_left -= 1"]
        lines += self.statements.store(self.scope(effects=True), 0)
        return defined("spends(s, c)", lines, "@action()")

    def guards(self, scope: Scope) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choices.pick([0, 0, 1, 1, 2, 3])):
            if self.choices.chance(30):
                lines += self.locals(scope)
            weaker = f" or {self.expressions.condition(scope, 1)}" if self.choices.chance(40) else ""
            weaker += f" or s.turn == {self.choices.below(4)}" if self.choices.chance(60) else ""
            bound = self.choices.pick(["", ", bound=C.k", ", bound=C.b", ""])
            guard = f"require({self.expressions.condition(scope, 2)}{weaker}{bound})"
            if lines and lines[-1].startswith("require") and self.choices.chance(15):
                lines[-1] += f"; {guard}"
            else:
                lines.append(guard)
        return lines

    def locals(self, scope: Scope) -> list[str]:
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
        taken = (name, *scope.fixed, *scope.numbers, *scope.records)
        item = self.choices.pick([other for other in LOCALS if other not in taken] or ["z"])
        self.expressions.bind(inner, item, kind, below)
        scope.numbers[name] = ""
        inner.numbers[name] = ""
        return [f"{name} = 0", f"for {item} in {source}:", f"    {name} += {self.expressions.number(inner, 1)}"]

    def property(self, number: int, actions: list[str]) -> tuple[str, str]:
        what = self.choices.below(4)
        name = f"prop{number}"
        if what in (0, 1):
            scope = self.scope(effects=False)
            word = ["@always", "@sometimes"][what]
            head = f"def {name}(s, c):"
        else:
            names = ("before", "after", "s")
            scope = Scope(records=dict.fromkeys(names, self.state), fixed={*names, "c"})
            word = "@step()" if what == 2 else "@sometimes"
            head = f"def {name}(before, after, c):"
            if what == 2 and self.choices.chance(50):
                on = self.choices.pick(actions)
                names, numbers, messages = self.given[on]
                word, head = f"@step(on={on})", f"def {name}(before, after, c{names}):"
                scope.numbers.update(numbers)
                scope.fixed |= set(numbers)
                for message in messages:
                    scope.records[message] = self.message
                    scope.fixed.add(message)
        if self.choices.chance(25) and "which" not in scope.numbers:
            self.room = COMBINATIONS
            domain = self.parameter(scope, "which")
            inner = word.partition("(")[2].rstrip(")")
            word = f"{word.partition('(')[0]}({inner}{', ' if inner else ''}which={domain})"
            head = f"{head[:-2]}, which):"
        lines = ['"""A property."""']
        scope.ghosts = True
        if what >= 2:
            lines.append("s = after")
        if self.choices.chance(40):
            lines += self.locals(scope)
        for _ in range(self.choices.pick([0, 0, 0, 1, 2])):
            lines += self.decided(scope)
        rarely = ["", f" or s.turn != {self.choices.below(4)}", f" or s.pc < {1 + self.choices.below(3)}"]
        value = self.expressions.condition(scope, 3)
        lines.append(f"return {value}{self.choices.pick(rarely)}{self.choices.pick(rarely)}")
        return name, "\n".join([word, head, *indented(lines)])

    def decided(self, scope: Scope) -> list[str]:
        condition = self.expressions.condition
        what = self.choices.below(4)
        if what == 0:
            return [f"if {condition(scope, 2)}:", f"    return {condition(scope, 2)}"]
        if what == 1:
            name = self.statements.target(scope)
            one, other = self.expressions.number(scope, 2), self.expressions.number(scope, 1)
            lines = [f"if {condition(scope, 1)}:", f"    {name} = {one}", "else:", f"    {name} = {other}"]
            scope.numbers[name] = ""
            return lines
        return self.decided_in_loop(scope, what - 1)

    def decided_in_loop(self, scope: Scope, deep: int) -> list[str]:
        source, kind, below = self.expressions.source(scope, 1)
        inner = scope.inner()
        name = f"e{deep}"
        self.expressions.bind(inner, name, kind, below)
        target, source = self.expressions.numbered(inner, name, source)
        body = self.decided_in_loop(inner, deep - 1) if deep > 1 else []
        for _ in range(1 + self.choices.below(2)):
            way = self.choices.pick(["break", "continue", f"return {self.expressions.condition(inner, 1)}"])
            body += [f"if {self.expressions.condition(inner, 1)}:", f"    {way}"]
        return [f"for {target} in {source}:", *indented(body)]

    def behaviour(self, actions: list[str]) -> str:
        parts, domain = [], self.choices.pick(["Thing", "MaybeThing", "Range(C.b, C.k)", "Mood"])
        for word in ("when", "then"):
            scope = self.scope(effects=False)
            scope.give("t", below="c.n" if domain.endswith("Thing") else "")
            sooner = self.sooner() if word == "then" else ""
            parts.append(f"def {word}(s, c, t):\n    return {self.expressions.condition(scope, 3)}{sooner}")
        made = f'comes = leads_to("comes", "It comes.", when=when, then=then, {self.promises(actions)}, t={domain})'
        return "\n\n\n".join([*parts, made])

    def sooner(self) -> str:
        """Return what comes in the end where actions are fair, as one more way to what must come; or nothing."""
        ways = ["", f" or s.turn == {self.choices.below(4)}", " or s.moves_left == 0", " or s.at[0] >= 5 - c.n"]
        return self.choices.pick(ways)

    def promises(self, actions: list[str]) -> str:
        """Return what is fair, and what does not happen any more."""
        fair = []
        for _ in range(1 + self.choices.below(2)):
            each = ', each="t"' if self.choices.chance(50) else ""
            name = "moves" if each else self.choices.pick(actions)
            if self.given[name][2]:
                each = self.choices.pick(["", ', each="m"', f', each="m.{self.statements.fields()[0][0]}"'])
            group = name if each else ", ".join({name: 0, self.choices.pick([name, *actions]): 0})
            fair.append(f"{self.choices.pick(['weak', 'strong'])}({group}{each})")
        without = f", without=({self.choices.pick(actions)},)" if self.choices.chance(30) else ""
        return f"fair=({', '.join(fair)},){without}"

    def cost(self, actions: list[str]) -> str:
        given = self.choices.below(3)
        large = " * 2305843009213693951" if self.choices.chance(20) else ""
        costs = f"{{turns: {given}{large}, moves: C.k}}" if self.choices.chance(60) else "price"
        scope = Scope(records={"before": self.state, "after": self.state}, fixed={"before", "after", "c"})
        price = self.expressions.condition(scope, 2)
        then = self.expressions.condition(self.scope(effects=False), 2)
        parts = [
            f"def begins(s, c):\n    return s.turn == {given}",
            f"def arrives(s, c):\n    return {then}{self.sooner()}",
            f"def price(before, after, c):\n    return {'-1' if self.expressions.dares(60) else 0} + {price}",
        ]
        bound = self.choices.pick(["", ", bound=C.k", ", bound=3"])
        last = f"when=begins, then=arrives, {self.promises(actions)}{bound}"
        made = f'costs = at_most("costs", "It costs.", costs={costs}, {last})'
        return "\n\n\n".join([*(parts if costs == "price" else parts[:2]), made])

    def end(self) -> str:
        then = self.expressions.condition(self.scope(effects=False), 2)
        text = f"def over(s, c):\n    return {then}{self.sooner()}"
        word = self.choices.pick(["weak", "strong"])
        return f'{text}\n\n\nends = eventually("ends", "It ends.", then=over, fair=({word}(moves, turns),))'

    def normalize(self) -> str:
        """Return a function that drops something; doing it again changes nothing."""
        numbers = [name for name, kind in self.state.fields if kind.domain is not None]
        lines = ['"""Drop what nobody sees."""', f"if s.pc == {self.choices.below(4)}:", f"    s.{numbers[1]} = 0"]
        if self.expressions.dares(30):
            lines.append("    s.ghost_seen = s.turn")
        if self.bags and self.choices.chance(50):
            lines += [f"for m in s.{self.choices.pick(self.bags)}:", f"    m.{self.statements.fields()[0][0]} = 0"]
        if self.choices.chance(30):
            self.statements.added = False
            lines += ["if s.turn == 2:", *indented(self.statements.block(self.scope(effects=True), 1, 3))]
        return defined("normalize(s, c)", lines)


def defined(head: str, lines: list[str], *above: str) -> str:
    return "\n".join([*above, f"def {head}:", *indented(lines)])


def machine_text(choices: Choices) -> str:
    return Author(choices).text()


def numbered(seed: int) -> str:
    """Return the text of a machine, which is always the same."""
    return machine_text(Choices(seed=seed))
