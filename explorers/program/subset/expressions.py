"""Types of expressions. An expression is rejected if engines could treat it differently."""

import ast
import builtins
import types

from fencepost.explorers.program.subset import hints, sources, written
from fencepost.explorers.program.subset.kinds import INT, NOTHING, Arr, BagRef, Consts, Queue, Rec, Type, kind_of, say
from fencepost.explorers.program.subset.places import Scope, head
from fencepost.model.language.actions import Action, Property, choose, fits
from fencepost.model.language.constants import MOST, Constants
from fencepost.model.language.domains import NONE, Range
from fencepost.model.language.errors import nearest
from fencepost.model.language.records import Nested, Record, Scalar, fields

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
BUILTINS = {"min", "max", "abs", "len", "int", "bool"}
BITS = MOST.bit_length()
"""Bits of a number in every engine, excluding the sign."""
FOLDS = {"all", "any", "sum"}


class Expressions:
    def __init__(self, scope: Scope) -> None:
        self.scope, self.made, self.places, self.refuse = scope, scope.made, scope.places, scope.refuse
        self.whole: ast.expr | None = None
        self.folding = ""
        self.coming: frozenset[str] = frozenset()
        """Variables of outer generators that a later clause binds again; before that clause, they are unassigned."""

    def declare(self, node: ast.AST, name: str) -> None:
        if name.startswith("_") and name != "_":
            self.refuse(node, f"the name {name!r} begins with an underscore", "use one that does not")
        if name in BUILTINS | FOLDS | {"range"}:
            self.refuse(node, f"the name {name!r} is taken by the language", "use another name")

    def rebind(self, name: ast.Name, kind: Type) -> None:
        if name.id in self.made.params:
            self.refuse(name, f"this rebinds the parameter {name.id!r}", "use another name")
        if name.id in self.made.drawn:
            self.refuse(name, f"this assigns to {name.id!r}, the result of `choose`", "use another name")
        before = self.scope.env.get(name.id)
        if before is not None and before != kind:
            self.refuse(name, f"{name.id!r} contains {say(before)} and is assigned {say(kind)}", "use another name")

    def number(self, node: ast.expr) -> None:
        kind = self.value(node)
        if kind != INT:
            self.refuse(node, f"{say(kind)} is used where a number is expected", hints.part_of(node, kind))

    def truth(self, node: ast.expr, *, negated: bool = False) -> None:
        self.number(node)
        if self.may_be_none(node):
            text = ast.unparse(node)
            what = f"{text!r} is used as a condition, but Python treats NONE as true and 0 as false"
            instead = f"write {text} == NONE, without the `not`" if negated else f"write {text} != NONE"
            self.refuse(node, what, instead)

    def may_be_none(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.made.may_be_none
        domain = written.domain_at(self, node)
        return isinstance(domain, Range) and domain.low == NONE

    def value(self, node: ast.expr) -> Type:
        kind = self._value(node)
        self.made.types[node] = kind
        if isinstance(kind, BagRef):
            self.made.bags |= self.places.find(node)
        return kind

    def _value(self, node: ast.expr) -> Type:
        match node:
            case ast.Constant():
                if not isinstance(node.value, int):
                    instead = hints.constant(node.value)
                    self.refuse(node, f"{node.value!r} is outside the modelling language", instead)
                if node.value > MOST:
                    self.refuse(node, f"{node.value} is out of range", f"use at most {MOST}")
                return INT
            case ast.Name():
                return self.load(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp():
                if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
                    self.refuse(node, "this operator is outside the modelling language", hints.operator(node.op))
                self.number(node.left)
                self.number(node.right)
                self.divisor(node.op, node.right)
                return INT
            case ast.UnaryOp():
                if isinstance(node.op, ast.Not):
                    self.truth(node.operand, negated=True)
                else:
                    self.number(node.operand)
                inner = node.operand.op if isinstance(node.operand, ast.UnaryOp) else node.operand
                condition = isinstance(inner, ast.Compare | ast.BoolOp | ast.Not)
                if isinstance(node.op, ast.Invert) and condition:
                    self.refuse(node, "`~` inverts the bits of a condition", "write `not`")
                return INT
            case ast.BoolOp():
                for item in node.values:
                    self.truth(item)
                return INT
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                self.truth(node.test)
                first, second = self.value(node.body), self.value(node.orelse)
                if first != second or not (first == INT or isinstance(first, Rec)):
                    self.refuse(node, "the two branches of this expression have different types", "use an if statement")
                return first
            case ast.Call():
                return self.call(node)
        word, instead = hints.EXPRESSIONS.get(type(node), (type(node).__name__.lower(), hints.USUAL))
        self.refuse(node, f"{word} is outside the modelling language", instead)

    def divisor(self, operator: ast.operator, node: ast.expr) -> None:
        """Require that a divisor is a nonzero literal, so no engine divides by zero, and that a shift loses no bits."""
        literal = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        if isinstance(operator, ast.FloorDiv | ast.Mod) and not (isinstance(literal, ast.Constant) and literal.value):
            instead = "divide by a literal number, such as 2"
            if isinstance(operator, ast.Mod):
                instead = "divide by a literal number, or wrap around with `x - n if x >= n else x`"
            self.refuse(node, "the divisor may be zero", instead)
        count = self.literal(node)
        if isinstance(operator, ast.LShift | ast.RShift) and count is not None and not 0 <= count < BITS:
            self.refuse(node, f"this shifts by {count} bits", f"shift by 0 to {BITS - 1}")

    def load(self, node: ast.Name) -> Type:
        name = node.id
        if name in self.scope.stale:
            self.refuse(
                node,
                f"{name!r} refers to a place that `{self.scope.stale[name]}` has overwritten",
                "copy the needed values into local variables before the write",
            )
        if name in self.coming:
            self.refuse(node, f"{name!r} is the variable of a later loop", "give one of the variables another name")
        self.made.reads_gone |= self.places.gone & set(map(head, self.places.of.get(name, frozenset())))
        if name in self.scope.env:
            return self.scope.env[name]
        if name in self.scope.locals:
            self.refuse(
                node, f"{name!r} may be unassigned here", "assign the name on every path that leads to this line"
            )
        found = self.scope.static(node)
        if found is None:
            module = self.made.python.__globals__
            known = [*self.scope.env, *(item for item, value in module.items() if isinstance(value, int))]
            hint = "" if self.scope.global_of(node) is not None else nearest(name, known, least=0.6)
            what, instead = hints.name(node, self.scope.global_of(node))
            hint = "" if instead is hints.CHANCE else hint
            self.refuse(node, f"{what}{hint}".rstrip("."), instead)
        self.made.static[node] = self.fitting(node, found)
        return INT

    def fitting(self, node: ast.expr, found: int) -> int:
        if abs(found) > MOST:
            shown = found if abs(found) < 10**30 else f"a number of {found.bit_length():,} bits"
            self.refuse(node, f"{ast.unparse(node)} is {shown}, which is out of range", f"use {-MOST} to {MOST}")
        return found

    def attribute(self, node: ast.Attribute) -> Type:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.scope.env and root.id not in self.scope.locals:
            found = self.scope.static(node)
            if found is None:
                self.refuse(node, *hints.attribute(node, self.scope))
            self.made.static[node] = self.fitting(node, found)
            return INT
        owner = self.value(node.value)
        if isinstance(owner, Consts):
            known = self.scope.program.machine.constants.declared()
            if node.attr not in known:
                self.scope.refuse_name(node, "there is no constant", node.attr, known)
            return INT
        if isinstance(owner, Queue):
            self.refuse(
                node, f"a channel has no field {node.attr!r}", "use add, popleft, clear, len, an index or a loop"
            )
        if isinstance(owner, Rec):
            found_field = dict(fields(owner.record)).get(node.attr)
            if found_field is None:
                names = [name for name, _ in fields(owner.record)]
                self.scope.refuse_name(node, f"record {owner.record.__name__} has no field", node.attr, names)
            if node.attr.startswith("ghost_"):
                self.made.reads_ghost = self.made.reads_ghost or node.attr
            return kind_of(found_field)
        self.refuse(node, f"{say(owner)} has no fields", "read a field of a record")

    def subscript(self, node: ast.Subscript) -> Type:
        owner = self.value(node.value)
        if not isinstance(owner, Arr | Queue):
            received = f"@action(m=InFlight('{hints.last(node.value)}'))"
            loop = f"loop over the messages, or receive a message as a parameter: {received}"
            self.refuse(node, f"{say(owner)} is indexed", loop if isinstance(owner, BagRef) else "index an array")
        with self.places.holding(node.value):
            self.number(node.slice)
        literal = self.literal(node.slice)
        if literal is not None and literal < 0:
            self.refuse(node.slice, *hints.index(node, literal))
        return Rec(owner.message) if isinstance(owner, Queue) else kind_of(owner.field.element)

    def literal(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.Constant):
            return int(node.value) if isinstance(node.value, int) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.literal(node.operand)
            return None if inner is None else -inner
        return self.made.static.get(node)

    def place(self, node: ast.expr) -> Type:
        if not isinstance(node, ast.Attribute | ast.Subscript):
            self.refuse(node, "this cannot be assigned to", "assign to a local variable or a field")
        kind = self.attribute(node) if isinstance(node, ast.Attribute) else self.subscript(node)
        self.made.types[node] = kind
        if isinstance(self.made.types.get(node.value), Consts):
            self.refuse(node, "this assigns to a constant", "store changing values in the state")
        if isinstance(self.made.types.get(node.value), Queue):
            self.refuse(node, "a message of a channel is replaced as a whole", "write its fields")
        self.places.write(node, self.places.find(node.value))
        return kind

    def compare(self, node: ast.Compare) -> Type:
        for operator in node.ops:
            if isinstance(operator, ast.Is | ast.IsNot):
                sign = "==" if isinstance(operator, ast.Is) else "!="
                none = any(isinstance(item, ast.Constant) and item.value is None for item in node.comparators)
                meant = hints.IS_NONE.format(sign) if none else f"compare numbers with {sign}"
                self.refuse(node, "`is` is outside the modelling language", meant)
        if written.same(self, node):
            return INT
        if any(isinstance(item, ast.In | ast.NotIn) for item in node.ops):
            written.among(self, node)
            return INT
        sides = [node.left, *node.comparators]
        kinds = self.in_order(sides)
        if any(kind != INT for kind in kinds):
            equality = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
            if not equality:
                self.refuse(node, "records have no order", "compare two records with == or !=, or compare their fields")
            if kinds[0] != kinds[1] or not isinstance(kinds[0], Rec | Arr):
                instead = "compare numbers, or two records of the same class"
                self.refuse(node, f"{say(kinds[0])} is compared with {say(kinds[1])}", instead)
            written.require_no_bags(self, node, kinds[0])
        return INT

    def helpers(self, called: ast.expr) -> list[str]:
        known = self.made.python.__globals__
        module = self.scope.global_of(called.value) if isinstance(called, ast.Attribute) else None
        prefix = ""
        if isinstance(called, ast.Attribute) and isinstance(module, types.ModuleType):
            prefix, known = f"{ast.unparse(called.value)}.", vars(module)
        return [prefix + key for key, item in known.items() if isinstance(item, types.FunctionType)]

    def call(self, node: ast.Call) -> Type:
        if isinstance(node.func, ast.Attribute):
            root = node.func.value
            owner = self.value(root) if self.scope.global_of(root) is None else None
            if isinstance(owner, BagRef):
                return self.bag_call(node, owner)
            if isinstance(owner, Queue):
                return self.channel_call(node, owner)
        found = self.scope.global_of(node.func)
        name = getattr(found, "__name__", ast.unparse(node.func))
        if found is getattr(builtins, name, None) and name in FOLDS:
            return self.fold(node, name)
        if found is getattr(builtins, name, None) and name in BUILTINS:
            return self.builtin(node, name)
        if found is fits:
            return self.fits(node)
        if found is choose:
            instead = "assign the value to a name first: leader = choose(Broker)"
            self.refuse(node, "`choose` is inside an expression", instead)
        if isinstance(found, type) and issubclass(found, Record):
            self.refuse(
                node,
                f"a {found.__name__} is constructed where it cannot be stored",
                "store the record in a field or an element, or compare it with another, as in `if m == Message(...)`",
            )
        if isinstance(found, Action | Property):
            kind = "an action" if isinstance(found, Action) else "a property"
            instead = "move the shared code into a helper"
            self.refuse(node, f"{ast.unparse(node.func)!r} is {kind}, which a model cannot call", instead)
        if not isinstance(found, types.FunctionType) or hints.is_of_python(found):
            own = [] if found is not None else self.helpers(node.func)
            hint = nearest(name, [*own, *BUILTINS, *FOLDS]) if found is None else ""
            what = f"{ast.unparse(node.func)!r} is not a helper that the language knows.{hint}".rstrip(".")
            siblings = ", ".join(item for item in own if "." in item)
            self.refuse(node, what, f"use one of: {siblings}" if siblings else hints.call(node, found, self.made.types))
        if node.keywords:
            texts = ", ".join(ast.unparse(item) for item in (*node.args, *(item.value for item in node.keywords)))
            instead = f"pass arguments by position, as in {found.__name__}({texts})"
            self.refuse(node, "a helper is called with keyword arguments", instead)
        given = self.in_order(node.args)
        wanted = found.__code__.co_argcount
        if len(given) != wanted:
            words = f"{wanted} argument{'' if wanted == 1 else 's'}"
            named = ", ".join(found.__code__.co_varnames[:wanted])
            instead = f"pass the declared arguments: {named or 'none'}"
            self.refuse(node, f"{found.__name__}() takes {words} but gets {len(given)}", instead)
        callee = self.scope.program.function(found, given)
        if callee.writes and self.folding:
            self.refuse(node, f"{found.__name__}() changes the state inside {self.folding}()", "write a loop")
        self.made.calls[node] = callee
        self.places.call(node, callee)
        self.made.writes = self.made.writes or callee.writes
        self.made.drops = self.made.drops or (node if callee.drops else None)
        self.made.reads_ghost = self.made.reads_ghost or callee.reads_ghost
        return callee.returns

    def in_order(self, items: list[ast.expr]) -> tuple[Type, ...]:
        found: list[Type] = []
        for number, item in enumerate(items):
            before = zip(items[:number], found, strict=True)
            with self.places.holding(*(other for other, kind in before if kind != INT)):
                found.append(self.value(item))
        return tuple(found)

    def fits(self, node: ast.Call) -> Type:
        if len(node.args) != 1 or [item.arg for item in node.keywords] != ["bound"]:
            instead = "write fits(condition, bound=C.in_flight)"
            self.refuse(node, "`fits` takes a condition and a constant as its bound", instead)
        self.truth(node.args[0])
        self.made.bounds[node] = self.bound(node.keywords[0].value)
        self.made.drops = node
        return INT

    def bound(self, node: ast.expr) -> str:
        owner = self.scope.global_of(node.value) if isinstance(node, ast.Attribute) else None
        if not isinstance(node, ast.Attribute) or not (isinstance(owner, type) and issubclass(owner, Constants)):
            instead = "name the constant by its class, as in bound=C.crashes, not by its value"
            self.refuse(node, "this is not a constant of the machine", instead)
        known = self.scope.program.machine.constants.declared()
        if node.attr not in known:
            instead = "name one of them"
            self.refuse(node, f"the constants have no {node.attr!r}.{nearest(node.attr, list(known))}", instead)
        return node.attr

    def builtin(self, node: ast.Call, name: str) -> Type:
        if name in ("min", "max") and len(node.args) == 1:
            return self.fold(node, name)
        if node.keywords:
            self.refuse(node, f"{name}() is called with keyword arguments", "pass numbers")
        if name not in ("min", "max") and len(node.args) != 1:
            self.refuse(node, f"{name}() takes 1 argument but gets {len(node.args)}", "pass one")
        if name == "len":
            kind = self.value(node.args[0])
            if not isinstance(kind, Arr | BagRef | Queue):
                self.refuse(node, f"len() of {say(kind)}", "take the length of an array or a bag")
            return INT
        for item in node.args:
            self.number(item)
        if name in ("min", "max") and len(node.args) < 2:
            self.refuse(node, f"{name}() without arguments", "pass two or more numbers, an array, or a generator")
        return INT

    def fold(self, node: ast.Call, name: str) -> Type:
        extreme = name in ("min", "max")
        if len(node.args) != 1 or [item.arg for item in node.keywords] not in ([], ["default"] if extreme else []):
            self.refuse(node, f"the argument of {name}() is not a single generator", self.generated(node, name))
        generator = node.args[0]
        if not isinstance(generator, ast.GeneratorExp):
            generator = self.generator_of(node, name)
        before, stale, of = dict(self.scope.env), dict(self.scope.stale), dict(self.places.of)
        loops = self.places.loops
        folding, self.folding = self.folding, name
        coming = self.coming
        names = [sources.names_in(item.target) for item in generator.generators]
        for number, clause in enumerate(generator.generators, 1):
            sources.iterate(self, clause.target, clause.iter)
            later, now = ({name for part in half for name in part} for half in (names[number:], names[:number]))
            self.coming = (coming | later) - now
            for test in clause.ifs:
                self.truth(test)
        (self.truth if name in ("all", "any") else self.number)(generator.elt)
        self.coming = coming
        self.scope.env, self.scope.stale, self.places.of, self.places.loops = before, stale, of, loops
        for item in node.keywords:
            self.number(item.value)
        self.folding = folding
        chosen = [sources.has_items(self, item.iter) and not item.ifs for item in generator.generators]
        if extreme and not node.keywords and not all(chosen):
            instead = f"write {name}(..., default=0), which defines the result if there are no values"
            self.refuse(node, f"{name}() may be called without values", instead)
        return INT

    def generator_of(self, node: ast.Call, name: str) -> ast.GeneratorExp:
        array = node.args[0]
        kind = self.value(array) if isinstance(array, ast.Name | ast.Attribute | ast.Subscript) else None
        if not isinstance(kind, Arr) or not isinstance(kind.field.element, Scalar):
            self.refuse(node, f"the argument of {name}() is not a single generator", self.generated(node, name))
        target, value = ast.Name("item", ast.Store()), ast.Name("item", ast.Load())
        clause = ast.comprehension(ast.copy_location(target, array), array, [], 0)
        generator = ast.copy_location(ast.GeneratorExp(ast.copy_location(value, array), [clause]), array)
        self.made.sugar[array] = generator
        return generator

    def generated(self, node: ast.Call, name: str) -> str:
        what = "number" if name in ("min", "max", "sum") else "condition"
        given = node.args[0] if len(node.args) == 1 else None
        given = given.value if isinstance(given, ast.Starred) else given
        if isinstance(given, ast.ListComp | ast.SetComp):
            return f"omit the brackets: {name}({ast.unparse(ast.GeneratorExp(given.elt, given.generators))[1:-1]})"
        if isinstance(given, ast.Call) and ast.unparse(given.func) == "map" and len(given.args) == 2:
            return f"write {name}({ast.unparse(given.args[0])}(item) for item in {ast.unparse(given.args[1])})"
        kind = self.made.types.get(given) if given is not None else None
        if isinstance(given, ast.Attribute | ast.Name | ast.Subscript):
            kind = self.value(given)
        if isinstance(kind, Arr) and isinstance(kind.field.element, Nested):
            field = next(iter(dict(fields(kind.field.element.record))), what)
            assert given is not None
            return f"write {name}(item.{field} for item in {ast.unparse(given)}), with the field that you mean"
        return f"write {name}({what} for x in range(n))"

    def bag_call(self, node: ast.Call, owner: BagRef) -> Type:
        assert isinstance(node.func, ast.Attribute)
        self.made.writes = True
        bags = self.places.find(node.func.value)
        record, bag = owner.field.record, ast.unparse(node.func.value)
        if node is not self.whole:
            what = "a message is added or removed inside an expression"
            self.refuse(node, what, f"write the call on a line of its own, or as `m = {bag}.add(...)`")
        if node.func.attr == "add":
            self.places.add(bags)
            self.message(node, record, f"{bag}.add")
            return Rec(record)
        if node.func.attr == "remove":
            if len(node.args) != 1 or isinstance(node.args[0], ast.Call) or self.value(node.args[0]) != Rec(record):
                what = "remove() takes the message to remove"
                self.refuse(node, what, f"pass a {record.__name__} that was received or that is a loop's variable")
            self.places.remove(node, bags, ast.unparse(node))
            return NOTHING
        instead = {
            "append": f"write {bag}.add({hints.named(record)}), with named fields",
            "pop": f"write {bag}.remove(m), where m is a received message or a loop's variable",
            "clear": f"write `for m in {bag}: {bag}.remove(m)`, on two lines",
        }
        self.refuse(
            node,
            f"a bag has no method {node.func.attr!r}",
            instead.get(node.func.attr, "use add, remove, len and loops"),
        )

    def channel_call(self, node: ast.Call, owner: Queue) -> Type:
        assert isinstance(node.func, ast.Attribute)
        self.made.writes = True
        places = self.places.find(node.func.value)
        if node is not self.whole:
            instead = "write the call on a line of its own; `m = s.channel[0]` reads the first message"
            self.refuse(node, "a channel is changed inside an expression", instead)
        if node.func.attr == "add":
            with self.places.holding(node.func.value):
                self.message(node, owner.message, f"{ast.unparse(node.func.value)}.add")
            self.places.write(node, places)
            return Rec(owner.message)
        if node.func.attr not in ("popleft", "clear"):
            instead = "use add, popleft, clear, len, an index or a loop"
            self.refuse(node, f"a channel has no method {node.func.attr!r}", instead)
        if node.args or node.keywords:
            self.refuse(node, f"{node.func.attr}() takes no arguments", f"write {ast.unparse(node.func)}()")
        self.places.write(node, places)
        self.places.overwrite([f"{place}[]" for place in places], ast.unparse(node))
        return NOTHING

    def message(self, node: ast.Call, record: type[Record], call: str) -> None:
        known = dict(fields(record))
        if node.args:
            instead = f"write {call}({hints.named(record)}), with named fields"
            self.refuse(node, "a message is added with positional fields", instead)
        for item in node.keywords:
            if item.arg not in known:
                what = f"message {record.__name__} has no field"
                self.scope.refuse_name(item.value, what, str(item.arg), known)
            if not isinstance(known[item.arg], Scalar):
                instead = "assign the field through the reference that add() returns"
                self.refuse(item.value, f"field {item.arg!r} is not a number", instead)
            self.number(item.value)
