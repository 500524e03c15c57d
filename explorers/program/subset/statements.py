"""Checks of statements in execution order: assignments, branches and loops."""

import ast

from fencepost.explorers.program.subset import hints, sources, written
from fencepost.explorers.program.subset.expressions import ARITHMETIC, Expressions
from fencepost.explorers.program.subset.kinds import INT, NOTHING, Arr, BagRef, Consts, Int, Rec, Several, Type, say
from fencepost.explorers.program.subset.places import Known, Scope
from fencepost.model.language.acting import is_choice, require


class Statements:
    def __init__(self, scope: Scope) -> None:
        self.scope, self.made, self.places, self.refuse = scope, scope.made, scope.places, scope.refuse
        self.expressions = Expressions(scope)
        self.returned: list[Type] = []
        self.jumped: list[Known] = []

    def body(self) -> None:
        node = self.made.node
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            instead = "use plain parameters"
            self.refuse(node, f"{self.made.name}() has default, keyword-only or starred parameters", instead)
        for item in arguments.args:
            self.expressions.declare(item, item.arg)
        early = self.block(node.body)
        if isinstance(self.made.returns, Several) and self.made.writes:
            self.refuse(
                node,
                f"{self.made.name}() returns a tuple and changes the state, but engines call it once per value",
                "write one helper that reads the state, and another that changes it",
            )
        if not early and self.made.returns != NOTHING:
            instead = "return a value on every path, including the end"
            self.refuse(node, f"{self.made.name}() returns a value on some paths only", instead)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Check statements in order; return whether the block never reaches its end."""
        for position, statement in enumerate(statements):
            if self.statement(statement):
                if position + 1 < len(statements):
                    self.refuse(statements[position + 1], "this line is never reached", "remove it")
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Pass():
                return False
            case ast.Break() | ast.Continue():
                self.jumped.append(self.places.known())
                return True
            case ast.Return():
                self.give_back(node)
                return True
            case ast.Expr():
                self.effect(node.value)
            case ast.Assign():
                if len(node.targets) != 1:
                    self.refuse(node, "this line assigns to several targets at once", "write one assignment per target")
                self.assign(node.targets[0], node.value, node)
            case ast.AugAssign():
                self.augment(node)
            case ast.AnnAssign(value=ast.expr()):
                assert node.value is not None
                self.assign(node.target, node.value, node)
            case ast.AnnAssign():
                self.refuse(node, "this line declares a name without a value", "give it one")
            case ast.If():
                return self.branch(node)
            case ast.For():
                self.loop(node)
            case _:
                word = ast.unparse(node).split(maxsplit=1)[0].strip(":")
                instead = hints.statement(node, in_action=self.scope.is_action())
                self.refuse(node, f"`{word}` is outside the modelling language", instead)
        return False

    def give_back(self, node: ast.Return) -> None:
        given = NOTHING if node.value is None else self.given(node.value)
        if isinstance(given, Arr | BagRef | Consts):
            instead = "return a number, a flag or a record"
            self.refuse(node, "a helper returns an array, a bag or the constants", instead)
        if self.scope.is_action() and given != NOTHING:
            self.refuse(
                node,
                "an action returns a value",
                "write to the state, refuse the step with require(...), or make this a helper",
            )
        if self.returned and given != self.returned[0]:
            self.refuse(node, "this `return` has a different type from an earlier one", "return one type everywhere")
        self.returned.append(given)
        self.made.returns = given
        if node.value is not None and isinstance(given, Rec):
            self.made.gives |= self.places.find(node.value)

    def given(self, node: ast.expr) -> Type:
        if not isinstance(node, ast.Tuple):
            return self.expressions.value(node)
        kinds = self.expressions.in_order(node.elts)
        items = tuple(kind for kind in kinds if isinstance(kind, Int | Rec))
        if len(items) < len(kinds) or not items:
            self.refuse(node, "a helper returns a tuple of something other than numbers and records", "return those")
        for item, kind in zip(node.elts, kinds, strict=True):
            if isinstance(kind, Rec):
                self.made.gives |= self.places.find(item)
        return Several(items)

    def effect(self, node: ast.expr) -> None:
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            word = "await" if isinstance(node, ast.Await) else "yield"
            self.refuse(node, f"`{word}` is outside the modelling language", hints.AT_ONCE)
        if not isinstance(node, ast.Call):
            self.refuse(node, "this line computes a value and discards it", self.meant(node))
        if isinstance(node.func, ast.Name) and self.scope.global_of(node.func) is require:
            if len(node.args) != 1 or [item.arg for item in node.keywords] not in ([], ["bound"]):
                self.refuse(node, "`require` takes one condition", "write one require(condition) per line")
            if node not in {item.value for item in self.made.node.body if isinstance(item, ast.Expr)}:
                self.refuse(node, "`require` is inside an if, a loop or a helper's body", self.outside(node))
            if not self.scope.is_action():
                self.refuse(node, "`require` is in a helper", "return a flag and require it in the action")
            self.expressions.truth(node.args[0])
            if node.keywords:
                self.made.bounds[node] = self.expressions.bound(node.keywords[0].value)
            return
        self.expressions.whole = node
        if isinstance(self.expressions.value(node), Several):
            self.refuse(node, "this line computes several values and discards them", self.meant(node))

    def outside(self, node: ast.Call) -> str:
        for item in self.made.node.body if self.scope.is_action() else ():
            if (
                isinstance(item, ast.If)
                and not item.orelse
                and [ast.unparse(node)] == [ast.unparse(line) for line in item.body]
            ):
                unless = ast.unparse(ast.UnaryOp(ast.Not(), item.test))
                return f"write require({unless} or {ast.unparse(node.args[0])}) at the top level of the action"
        return "write `require` at the top level of an action, before all writes"

    def meant(self, node: ast.expr) -> str:
        """Return what to write instead of a line that computes a value and discards it."""
        last = isinstance(self.made.node.body[-1], ast.Expr) and self.made.node.body[-1].value is node
        if isinstance(node, ast.Name) and self.scope.global_of(node) is require:
            return "write require(condition)"
        if last and not self.scope.is_action():
            return f"write `return {ast.unparse(node)}`: a helper or a property returns its value"
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            return f"write `{ast.unparse(node.left)} = ...` to assign, or require({ast.unparse(node)}) for a guard"
        return "assign the value, or remove the line"

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Call):
                self.unpack(target, value, node)
                return
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                instead = "write one assignment per name"
                self.refuse(node, "this line unpacks something other than a tuple of the same length", instead)
            for name in target.elts:
                if not isinstance(name, ast.Name):
                    kind = self.expressions.place(name)
                    if isinstance(kind, Rec):
                        what = "this line swaps records, which would make both names refer to one place"
                        self.refuse(node, what, "copy the fields with local variables")
                    self.refuse(node, "a tuple assignment writes to the state", "write one assignment per field")
            given = self.expressions.in_order(value.elts)
            known = [(self.places.find(item), self.expressions.may_be_none(item)) for item in value.elts]
            for name, item, kind, (places, none) in zip(target.elts, value.elts, given, known, strict=True):
                assert isinstance(name, ast.Name)
                self.bind(name, kind, item)
                self.refer(name.id, kind, places, none=none)
            return
        if isinstance(target, ast.Name) and is_choice(self.made.python, value):
            self.draw(target, node)
            return
        if isinstance(target, ast.Name):
            self.expressions.whole = value
            self.bind(target, self.expressions.value(value), value)
            return
        if not isinstance(target, ast.Attribute | ast.Subscript):
            self.expressions.place(target)  # raises the error
        record = written.record_of(self.expressions, value)
        if record is not None:
            assert isinstance(value, ast.Call)
            given_kind = written.write_out(self.expressions, value, record)
        else:
            given_kind = self.expressions.value(value)
        with self.places.holding(*([value] if isinstance(given_kind, Rec) else [])):
            kind = self.expressions.place(target)
        if isinstance(kind, Arr | BagRef):
            self.refuse(target, "this line assigns a whole array or bag", "change its elements")
        if kind != given_kind:
            self.refuse(value, f"{say(given_kind)} is stored where {say(kind)} is expected", "store the same type")
        self.made.writes = True
        if isinstance(kind, Rec):
            self.places.overwrite(self.places.find(target), f"{ast.unparse(target)} = ...")

    def draw(self, name: ast.Name, node: ast.stmt) -> None:
        if not self.scope.is_action() or node not in self.made.node.body:
            instead = "call `choose` at the top level of an action; its value can be used anywhere"
            self.refuse(node, "`choose` is inside an if, a loop or a helper", instead)
        if name.id in self.scope.env:
            self.refuse(
                name, f"{name.id!r} already has a value, and `choose` assigns another value", "use another name"
            )
        self.expressions.declare(name, name.id)
        self.scope.env[name.id] = INT
        self.made.types[name] = INT
        self.made.drawn.append(name.id)

    def unpack(self, target: ast.Tuple, value: ast.Call, node: ast.stmt) -> None:
        kind = self.expressions.value(value)
        if not isinstance(kind, Several):
            self.refuse(node, f"this unpacks {say(kind)}", "write one name")
        if len(kind.items) != len(target.elts):
            instead = "name each of them"
            self.refuse(node, f"this line unpacks {len(kind.items)} values into {len(target.elts)} names", instead)
        for name, item in zip(target.elts, kind.items, strict=True):
            if not isinstance(name, ast.Name):
                self.refuse(node, "a tuple assignment writes to the state", "write one assignment per field")
            self.bind(name, item, value)

    def bind(self, name: ast.Name, kind: Type, value: ast.expr) -> None:
        if kind == NOTHING:
            instead = "call the helper on a line of its own"
            self.refuse(value, "this line assigns the result of a helper that returns no value", instead)
        if isinstance(kind, Several):
            instead = f"unpack the tuple: a, b = {ast.unparse(value)}"
            self.refuse(value, f"{name.id!r} would be a tuple of {len(kind.items)} values", instead)
        if isinstance(kind, Consts | BagRef):
            self.refuse(value, f"this line assigns {say(kind)} to a name", "write the expression out where it is used")
        self.expressions.declare(name, name.id)
        self.expressions.rebind(name, kind)
        self.scope.env[name.id] = kind
        self.made.types[name] = kind
        self.refer(name.id, kind, self.places.find(value), none=self.expressions.may_be_none(value))

    def refer(self, name: str, kind: Type, places: frozenset[str], *, none: bool) -> None:
        (self.made.may_be_none.add if none else self.made.may_be_none.discard)(name)
        self.places.name(name, places if isinstance(kind, Rec | Arr) else frozenset())

    def augment(self, node: ast.AugAssign) -> None:
        if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
            self.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
        if isinstance(node.target, ast.Name):
            self.expressions.load(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.expressions.rebind(node.target, INT)
            self.made.types[node.target] = INT
        else:
            if self.expressions.place(node.target) != INT:
                kind = self.made.types[node.target]
                instead = hints.part_of(node.target, kind)
                self.refuse(node.target, "this line adds to something that is not a number", instead)
            self.made.writes = True
        with self.places.holding(*([] if isinstance(node.target, ast.Name) else [node.target.value])):
            self.expressions.number(node.value)
        self.expressions.divisor(node.op, node.value)

    def branch(self, node: ast.If) -> bool:
        """Check an `if`; after it, a name is assigned only if both branches assign it."""
        self.expressions.truth(node.test)
        places = self.places
        before, stale, of, added = dict(self.scope.env), dict(self.scope.stale), dict(places.of), set(places.added)
        left_early = self.block(node.body)
        after_body, stale_body, of_body, added_body = self.scope.env, self.scope.stale, places.of, places.added
        self.scope.env, self.scope.stale, places.of, places.added = dict(before), dict(stale), of, added
        other_early = self.block(node.orelse)
        after_else, stale_else = self.scope.env, self.scope.stale
        for name, found in of_body.items():
            places.of[name] = places.of.get(name, frozenset()) | found
        if not left_early:
            places.added = added_body if other_early else places.added | added_body
        if left_early:
            self.scope.env, self.scope.stale = after_else, stale_else
        elif other_early:
            self.scope.env, self.scope.stale = after_body, stale_body
        else:
            self.scope.env = {name: kind for name, kind in after_body.items() if after_else.get(name) == kind}
            self.scope.stale = {**stale_body, **stale_else}
        return left_early and other_early

    def loop(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse(node, "`for ... else` is outside the modelling language", "use a flag")
        before, places = dict(self.scope.env), self.places
        jumped, self.jumped = self.jumped, []
        while True:  # each iteration sees the effects of earlier ones; there may be none, and each may end early
            start = places.known()
            sources.iterate(self.expressions, node.target, node.iter)
            is_bag = isinstance(self.made.types.get(node.iter), BagRef)
            over = places.find(node.iter) if is_bag else frozenset([""])
            variable = node.target.id if isinstance(node.target, ast.Name) else ""
            places.loops = [*places.loops, (next(iter(over)), variable)]
            with places.holding(*sources.arrays_in(self.expressions, node.iter)):
                self.block(node.body)
            places.loops = places.loops[:-1]
            for way in (start, *self.jumped):
                places.join(way)
            if places.known() == start:
                break
        self.jumped = jumped
        self.scope.env = {name: kind for name, kind in before.items() if name in self.scope.env}
