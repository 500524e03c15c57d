"""Random statements: stores, copies, branches, loops, bags."""

from __future__ import annotations

import re

from tests.random_machines.choices import Choices
from tests.random_machines.expressions import LOCALS, NAMES, Expressions, Helper, Scope, head
from tests.random_machines.schema import Domain, Record, Type

DEPTH = 3  # how deep expressions are


class Statements:
    def __init__(self, choices: Choices, helpers: list[Helper], records: list[Record], *, daring: bool) -> None:
        self.choices, self.helpers = choices, helpers
        self.classes = {record.name: record for record in records}
        self.expressions = Expressions(choices, helpers, self.classes, daring=daring)
        self.added = False

    def block(self, scope: Scope, depth: int, most: int = 3, *, loop: bool = False) -> list[str]:
        """Return statements, the last of which may leave the block early."""
        lines: list[str] = []
        for _ in range(1 + self.choices.below(most)):
            lines += self.statement(scope, depth)
        if depth < 2 and self.choices.chance(18):
            lines.append(self.choices.pick(["break", "continue", "return"] if loop else ["return"]))
        return lines

    def statement(self, scope: Scope, depth: int) -> list[str]:
        simple = [
            self.store, self.local, self.augment, self.augment_local, self.tuple, self.reference, self.effect,
            self.copy, self.add, self.alias, self.digest, self.write_out, self.unpack, self.pipe, self.pipe,
            self.remove,
        ]  # fmt: skip
        compound = [self.branch, self.loop, self.loop]
        return self.choices.pick([*simple, *(compound if depth > 0 else [])])(scope, depth)

    def number(self, scope: Scope) -> str:
        return self.expressions.number(scope, DEPTH)

    def store(self, scope: Scope, _: int) -> list[str]:
        """Store a number in a place: often in one that keeps all of it."""
        if "s" in scope.records and self.choices.chance(15):
            return [f"s.out = {self.wide(scope)}"]
        found = self.expressions.scalar(scope, 2, written=True)
        if found is None:
            return ["pass"]
        place, domain = found
        return [f"{place} = {self.fitting(scope, domain)}"]

    def wide(self, scope: Scope) -> str:
        """Return a number that depends on two, one evaluated after the other."""
        values = [self.number(scope), self.number(scope)]
        return f"max(-1000000000, min(1000000000, {values[0]} * 1000 + {values[1]}))"

    def fitting(self, scope: Scope, domain: Domain) -> str:
        value = self.number(scope)
        return value if self.expressions.dares(9) else f"max({domain.low}, min({domain.high}, {value}))"

    def augment(self, scope: Scope, _: int) -> list[str]:
        found = self.expressions.scalar(scope, 2, written=True)
        if found is None:
            return ["pass"]
        place, domain = found
        if domain.alias in ("Small", "Large", "Twice", "Wide"):
            more = self.number(scope)
            step = more if self.expressions.dares(15) else f"(max(-1, min(1, {more})))"
            line = f"{place} {self.choices.pick(['+=', '-=', '|=', '^='])} {step}"
            if self.expressions.dares(50):
                return [line]
            end = f"{domain.low} + 4 < {place} < {domain.high} - 4" if domain.alias != "Small" else f"-2 < {place} < 2"
            return [f"if {end}:", f"    {line}"]
        words = ["&= 1 |", "%= 2 #", "//= 2 #", ">>= 1 #", "*=", "%= 3 #"]
        words += ["<<=", "^="] if self.expressions.dares(50) else []
        return [f"{place} {self.choices.pick(words)} {self.expressions.condition(scope, 2)}"]

    def target(self, scope: Scope) -> str:
        return self.choices.pick(scope.free(LOCALS, "numbers"))

    def local(self, scope: Scope, _: int) -> list[str]:
        value, name = self.number(scope), self.target(scope)
        scope.numbers[name] = ""
        return [f"{name}: int = {value}" if self.choices.chance(10) else f"{name} = {value}"]

    def augment_local(self, scope: Scope, _: int) -> list[str]:
        known = [name for name in scope.numbers if name not in scope.fixed]
        if not known:
            return self.local(scope, 0)
        name = self.choices.pick(known)
        scope.numbers[name] = ""
        word = self.choices.pick(["+=", "-=", "*=", "|=", "&=", "^="])
        return [f"{name} {word} {self.number(scope)}"]

    def tuple(self, scope: Scope, _: int) -> list[str]:
        values = [self.number(scope), self.number(scope)]
        names = [self.target(scope), self.target(scope)]
        for name in names:
            scope.numbers[name] = ""
        return [f"{', '.join(names)} = {', '.join(values)}"]

    def refer(self, scope: Scope, name: str, place: str, kind: str) -> None:
        received = any(word in scope.received for word in re.findall(r"\w+", place))
        scope.records[name] = self.classes[kind]
        scope.received = scope.received | {name} if received else scope.received - {name}

    def reference(self, scope: Scope, _: int) -> list[str]:
        """Let a name stand for a record, or two names for two, or for a number and a record."""
        kind = self.choices.pick(["P", "R", "P", "R", "M"])
        names, several = scope.free(NAMES[kind], "records"), self.choices.below(8)
        either = self.expressions.either if self.choices.chance(20) else self.expressions.record
        place = either(scope, kind)
        other = self.expressions.record(scope, kind) if several == 7 else None
        if place is None or not names:
            return ["pass"]
        name = self.choices.pick(names)
        if other is not None and len(names) > 1:
            second = self.choices.pick([item for item in names if item != name])
            self.refer(scope, name, place, kind)
            self.refer(scope, second, other, kind)
            return [f"{name}, {second} = {place}, {other}"]
        if several == 6:
            number, value = self.target(scope), self.number(scope)
            scope.numbers[number] = ""
            self.refer(scope, name, place, kind)
            return [f"{number}, {name} = {value}, {place}"]
        self.refer(scope, name, place, kind)
        return [f"{name} = {place}"]

    def alias(self, scope: Scope, _: int) -> list[str]:
        arrays = self.expressions.arrays(scope)
        found = [item for item in arrays if item[0] != "s.at" and head(item[0]) not in scope.received]
        names = scope.free(("w", "z"), "arrays")
        if not found or not names:
            return ["pass"]
        place, sizes, kind = self.choices.pick(found)
        name = self.choices.pick(names)
        if name in scope.arrays and scope.arrays[name] is not kind:
            return ["pass"]
        text = self.expressions.at(scope, place, sizes, 1)
        scope.arrays[name] = kind
        return [f"{name} = {text}"]

    def digest(self, scope: Scope, depth: int) -> list[str]:
        bags = self.expressions.bags(scope)
        if not bags or "s" not in scope.records or "m" in scope.records or "m" in scope.numbers or "m" in scope.fixed:
            return self.store(scope, depth)
        field, _ = self.choices.pick(self.fields())
        line = f"    s.out = max(-1000000000, min(1000000000, s.out * 7 + m.{field}))"
        lines = [f"for m in {self.choices.pick(bags)}:", line]
        return [*lines, "    break"] if self.choices.chance(30) else lines

    def effect(self, scope: Scope, depth: int) -> list[str]:
        """Call a helper that changes something, or give what it returns to a local."""
        known = [item for item in self.helpers if item.effect and self.expressions.callable(scope, item)]
        if not known:
            return self.store(scope, depth)
        helper = self.choices.pick(known)
        text = self.expressions.call(scope, helper, 2)
        self.added = True
        if helper.returns == "int" and self.choices.chance(50):
            name = self.target(scope)
            scope.numbers[name] = ""
            return [f"{name} = {text}"]
        return [text]

    def copy(self, scope: Scope, depth: int) -> list[str]:
        """Copy a record; names that refer to records are not used after that."""
        kind = self.choices.pick(["P", "R", "P", "R", "M"])
        source, target = self.expressions.record(scope, kind), self.expressions.record(scope, kind)
        if source is None or target is None or not self.stores(scope, target):
            return self.store(scope, depth)
        self.refresh(scope)
        return [f"{target} = {source}"]

    def stores(self, scope: Scope, target: str) -> bool:
        named = target.isidentifier() or "(" in target.split("[", maxsplit=1)[0]
        return not named and head(target) not in scope.received

    def refresh(self, scope: Scope) -> None:
        for name in list(scope.records):
            if name not in scope.fixed:
                del scope.records[name]
        scope.arrays.clear()

    def branch(self, scope: Scope, depth: int) -> list[str]:
        lines = [f"if {self.expressions.condition(scope, 2)}:", *self.inside(scope, depth)]
        if self.choices.chance(20):
            lines += [f"elif {self.expressions.condition(scope, 1)}:", *self.inside(scope, depth)]
        if self.choices.chance(40):
            lines += ["else:", *self.inside(scope, depth)]
        return lines

    def inside(self, scope: Scope, depth: int) -> list[str]:
        return indented(self.block(scope.inner(), depth - 1, 2))

    def loop(self, scope: Scope, depth: int) -> list[str]:
        """Run a block for each of some items; a message of the bag at hand may be removed."""
        source, kind, below = self.expressions.source(scope, 2)
        inner = scope.inner()
        names = scope.free([*LOCALS, "m"], "numbers")
        if kind is not None and kind.domain is None:
            names = [name for name in names if name not in scope.numbers]
        if not names:
            return ["pass"]
        name = self.choices.pick(names)
        self.expressions.bind(inner, name, kind, below)
        target, whole = self.expressions.numbered(inner, name, source)
        if target != name and "k" in "".join(known for known in scope.numbers if known.startswith("k")):
            target, whole = name, source
        body = self.block(inner, depth - 1, 2, loop=True)
        ends = body[-1].lstrip().startswith(("return", "break", "continue"))
        if source in self.expressions.bags(scope) and not self.added and not ends and self.choices.chance(50):
            body += [f"if {self.expressions.condition(inner, 1)}:", f"    {source}.remove({name})"]
        if self.expressions.queued(scope, source) and head(source) not in scope.received and self.choices.chance(50):
            less = self.choices.pick(["clear", "popleft"])
            shorter = [f"if len({source}) > 1:", f"    {source}.{less}()"]
            body = [*self.choices.pick([shorter, [f"if len({source}) == 1:", f"    {source}.add()"]]), *body]
            if whole == source and self.choices.chance(50):
                whole = f"reversed({source})"
        for known in set(scope.numbers) & set(LOCALS) - scope.fixed:
            scope.numbers[known] = ""
        return [f"for {target} in {whole}:", *indented(body)]

    def write_out(self, scope: Scope, depth: int) -> list[str]:
        """Store a record that is written out; names that refer to records are not used after that."""
        kind = self.choices.pick(["P", "R", "P", "R", "M"])
        target = self.expressions.record(scope, kind)
        if target is None or not self.stores(scope, target):
            return self.store(scope, depth)
        text = self.expressions.written(scope, self.classes[kind], lambda domain: self.fitting(scope, domain))
        self.refresh(scope)
        return [f"{target} = {text}"]

    def unpack(self, scope: Scope, depth: int) -> list[str]:
        """Give names what a helper returns: several numbers, or a number and a record."""
        if self.choices.chance(30):
            return self.unpack_record(scope, depth)
        known = self.expressions.known(scope, "2", "3")
        if not known:
            return self.store(scope, depth)
        helper = self.choices.pick(known)
        names = [self.target(scope) for _ in range(int(helper.returns or 0))]
        if len(set(names)) < len(names):
            return self.store(scope, depth)
        text = self.expressions.call(scope, helper, 2)
        for name in names:
            scope.numbers[name] = ""
        return [f"{', '.join(names)} = {text}"]

    def pipe(self, scope: Scope, depth: int) -> list[str]:
        parts = self.expressions.parts(scope)
        found = [item for item in parts if item[2].queues and head(item[0]) not in scope.received]
        if not found:
            return self.store(scope, depth)
        text, sizes, kind = self.choices.pick(found)
        place, size = self.expressions.queue(scope, text, sizes, kind, 0), last_size(kind)
        field, domain = self.fields()[0]
        what = self.choices.below(6)
        if what < 2 or depth < 2:
            lines = [f"{place}.add({self.given(scope)})"]
            if self.choices.chance(20) and "msg" not in scope.records:
                first = f"msg.{field} = {self.fitting(scope, domain)}"
                lines = [f"msg = {lines[0]}", first, *self.kept(scope, "msg")]
            return self.guarded(40, f"len({place}) < {size}", lines)
        if what in (2, 4):
            lines = [f"s.out = max(-1000, min(1000, {place}[0].{field}))"] if "s" in scope.records else []
            lines += self.kept(scope, f"{place}[0]")
            lines.append(f"{place}.popleft()")
            if not self.expressions.dares(40):
                return [f"if len({place}) > 0:", *indented(lines)]
            return lines[-1 if what == 4 else 0 :]
        if what == 3:
            line = f"{place}[{self.expressions.index(scope, '1', 1)}].{field} = {self.fitting(scope, domain)}"
            return self.guarded(40, f"len({place}) > 0", [line])
        return [f"{place}.clear()"]

    def kept(self, scope: Scope, message: str) -> list[str]:
        """Copy a message to the state, or do nothing."""
        target = self.expressions.record(scope, "M") if self.choices.chance(40) else None
        if target is None or not self.stores(scope, target) or "[" in target:
            return []
        self.refresh(scope)
        return [f"{target} = {message}"]

    def remove(self, scope: Scope, depth: int) -> list[str]:
        """Take out of a bag what is equal to a message of the state."""
        bags, message = self.expressions.bags(scope), self.expressions.record(scope, "M")
        in_loop = any(record.name == "M" for name, record in scope.records.items() if name not in scope.fixed)
        if not bags or in_loop or message is None or "(" in message or not message.startswith("s.last"):
            return self.store(scope, depth)
        bag = self.choices.pick(bags)
        return self.guarded(20, f"any(x == {message} for x in {bag})", [f"{bag}.remove({message})"])

    def unpack_record(self, scope: Scope, depth: int) -> list[str]:
        """Give two names what a helper returns, the second of which is a record."""
        known = self.expressions.known(scope, "both")
        names = scope.free(NAMES["R"])
        number = self.target(scope)
        if not known or not names:
            return self.store(scope, depth)
        text = self.expressions.call(scope, self.choices.pick(known), 2)
        scope.numbers[number] = ""
        scope.records[names[0]] = self.classes["R"]
        return [f"{number}, {names[0]} = {text}"]

    def add(self, scope: Scope, depth: int) -> list[str]:
        """Put a message in flight, and perhaps write to it."""
        bags = [(text, kind) for text, kind in self.expressions.roots(scope) if kind.bag]
        if not bags:
            return self.store(scope, depth)
        bag, kind = self.choices.pick(bags)
        line = f"{bag}.add({self.given(scope)})"
        self.added = True
        lines = [line]
        if self.choices.chance(40) and "m" not in scope.fixed and "m" not in scope.records:
            inner = Scope(numbers=dict(scope.numbers), records={"m": self.classes["M"]}, fixed=scope.fixed)
            lines = [f"m = {line}", *self.store(inner, 0), *self.kept(scope, "m")]
        if self.choices.chance(8):
            lines.append("pass")
        return self.guarded(40, f"len({bag}) < {kind.size}", lines)

    def guarded(self, percent: int, condition: str, lines: list[str]) -> list[str]:
        """Return lines that happen under a condition only, but where it dares to leave that out."""
        return lines if self.expressions.dares(percent) else [f"if {condition}:", *indented(lines)]

    def fields(self) -> list[tuple[str, Domain]]:
        return [(name, kind.domain) for name, kind in self.classes["M"].fields if kind.domain is not None]

    def given(self, scope: Scope) -> str:
        """Return what a new message is given for some of its fields."""
        chance, fitting = self.choices.chance, self.fitting
        return ", ".join(f"{name}={fitting(scope, domain)}" for name, domain in self.fields() if chance(75))


def last_size(kind: Type) -> str:
    while kind.element is not None:
        kind = kind.element
    return kind.size


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
