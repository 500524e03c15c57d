"""The subset of Python that a model may use, and what every expression in it denotes.

A model function must mean the same on every carrier. This module reads the text of an action, a property
or a helper, gives every expression a type from the closed schema, and refuses what a carrier would get
wrong in silence: a misspelt field, a NONE index, a swap of records, an unassigned local, a guard after a write.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import os
import textwrap
import types
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NoReturn

from fencepost.model.language.actions import Action, Property, require
from fencepost.model.language.domains import NONE, Domain, InFlight
from fencepost.model.language.errors import ModelError, nearest
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Nested, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Int:
    """A whole number, a flag or an enum member."""


@dataclass(frozen=True)
class Rec:
    """A reference to a record of this class."""

    record: type[Record]


@dataclass(frozen=True)
class Arr:
    """A reference to an array."""

    field: ArrayOf


@dataclass(frozen=True)
class BagRef:
    """A reference to a bag of messages."""

    field: BagOf


@dataclass(frozen=True)
class Consts:
    """The constants of the run."""


@dataclass(frozen=True)
class Nothing:
    """What a function without a value returns."""


Type = Int | Rec | Arr | BagRef | Consts | Nothing
INT, CONSTS, NOTHING = Int(), Consts(), Nothing()
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
BUILTINS = {"min", "max", "abs", "len", "int", "bool"}
FOLDS = {"all", "any", "sum"}


@dataclass
class Function:
    """A checked function: its text and the type of every expression in it."""

    python: Callable[..., Any]
    node: ast.FunctionDef
    params: dict[str, Type]
    types: dict[ast.AST, Type] = field(default_factory=dict)
    static: dict[ast.AST, int] = field(default_factory=dict)
    calls: dict[ast.AST, Function] = field(default_factory=dict)
    returns: Type = NOTHING
    writes: bool = False
    reads_ghost: str = ""
    guards: int = 0
    """For an action: how many statements of the body belong to the guard part (up to the last `require`)."""

    @property
    def name(self) -> str:
        """The Python name."""
        return self.python.__name__


class Program:
    """The checked functions of a machine and of properties."""

    def __init__(self, machine: Machine, properties: tuple[Property, ...] = ()) -> None:
        self.machine = machine
        self.functions: dict[Callable[..., Any], Function] = {}
        self._open: list[Callable[..., Any]] = []
        _check_bags(machine.state)
        state = Rec(machine.state)
        self.initial = self._action(machine.initial)
        self.actions = {item.name: self._action(item) for item in machine.actions}
        self.normalize = self.function(machine.normalize, (state, CONSTS)) if machine.normalize else None
        self.properties = {item.name: self._property(item) for item in properties}

    def function(self, python: Callable[..., Any], arguments: tuple[Type, ...]) -> Function:
        """Check a function called with arguments of these types."""
        found = self.functions.get(python)
        if found is not None:
            given = tuple(found.params.values())
            if given != arguments:
                _Walk(self, found).refuse(
                    found.node, f"{found.name}() is called with arguments of different types", "give each type its own helper"
                )
            return found
        made = _read(python)
        walk = _Walk(self, made)
        if python in self._open:
            walk.refuse(made.node, f"{made.name}() calls itself", "use a loop with a fixed bound")
        names = [item.arg for item in made.node.args.args]
        if len(names) != len(arguments):
            walk.refuse(made.node, f"{made.name}() takes {len(names)} arguments but gets {len(arguments)}", "pass them all")
        made.params = dict(zip(names, arguments, strict=True))
        self._open.append(python)
        _Walk(self, made).body()
        self._open.pop()
        self.functions[python] = made
        return made

    def _action(self, item: Action) -> Function:
        state = self.machine.state
        arguments: list[Type] = [Rec(state), CONSTS]
        for name, domain in item.params:
            if isinstance(domain, InFlight):
                arguments.append(Rec(_bag(state, domain.bag, item, name).record))
            else:
                assert isinstance(domain, Domain)  # noqa: S101 (for the type checker)
                arguments.append(INT)
        made = self.function(item.function, tuple(arguments))
        _check_guards(self, made)
        return made

    def _property(self, item: Property) -> Function:
        state = Rec(self.machine.state)
        arguments: tuple[Type, ...] = (state, state, CONSTS) if item.over_steps else (state, CONSTS)
        if item.on is not None:
            arguments += tuple(
                Rec(_bag(self.machine.state, domain.bag, item.on, name).record) if isinstance(domain, InFlight) else INT
                for name, domain in item.on.params
            )
        made = self.function(item.function, arguments)
        if made.writes:
            _Walk(self, made).refuse(made.node, f"property {item.name!r} changes the state", "only read in a property")
        return made


def check(machine: Machine, properties: tuple[Property, ...] = ()) -> Program:
    """Check a machine and properties against the language; raise ModelError with file, line and caret."""
    return Program(machine, properties)


def _check_bags(state: type[Record], inside: str = "") -> None:
    for name, item in fields(state):
        if isinstance(item, BagOf) and inside:
            raise ModelError(f"{inside}.{name}: a bag must be a field of the state itself.")
        record = item.record if isinstance(item, Nested | BagOf) else None
        if isinstance(item, ArrayOf) and isinstance(item.element, Nested):
            record = item.element.record
        if record is not None:
            _check_bags(record, record.__name__)


def _bag(state: type[Record], bag: str, item: Action, param: str) -> BagOf:
    found = dict(fields(state)).get(bag)
    if not isinstance(found, BagOf):
        known = [name for name, kind in fields(state) if isinstance(kind, BagOf)]
        raise ModelError(f"action {item.name}: InFlight({bag!r}) for {param!r}: the state has no such bag.{nearest(bag, known)}")
    return found


def _read(python: Callable[..., Any]) -> Function:
    try:
        lines, first = inspect.getsourcelines(python)
    except (OSError, TypeError):
        raise ModelError(f"{python!r} has no source text: write model functions in a file.") from None
    text = textwrap.dedent("".join(lines))
    node = ast.parse(text).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise ModelError(f"{python.__code__.co_filename}:{first}: a model function must be a plain `def`.")
    ast.increment_lineno(node, first - 1)
    if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
        node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
    return Function(python, node, {})


def _check_guards(program: Program, made: Function) -> None:
    """Guards stand at the top level, before any write, and read no ghost."""
    walk = _Walk(program, made)
    last = 0
    for position, statement in enumerate(made.node.body):
        if _is_require(made, statement):
            last = position + 1
    made.guards = last
    for statement in made.node.body[:last]:
        for node in ast.walk(statement):
            if node in walk.wrote:
                continue
            callee = made.calls.get(node)
            if _is_write(made, node) or (callee is not None and callee.writes):
                walk.refuse(node, "this changes the state before the last `require`", "put all guards first, then the writes")
            if isinstance(node, ast.Attribute) and node.attr.startswith("ghost_"):
                walk.refuse(node, f"a guard reads the ghost {node.attr!r}", "ghosts are for properties: keep what the protocol knows in another field")
            if callee is not None and callee.reads_ghost:
                walk.refuse(node, f"a guard calls {callee.name}(), which reads the ghost {callee.reads_ghost!r}", "ghosts are for properties only")


def _is_require(made: Function, statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and made.python.__globals__.get(statement.value.func.id) is require
    )


def _is_write(made: Function, node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node in made.types and (
        isinstance(made.types.get(node.func.value), BagRef)
    )


class _Walk:
    """One pass over a function in the order of execution, with what each local name holds."""

    def __init__(self, program: Program, made: Function) -> None:
        self.program, self.made = program, made
        self.env: dict[str, Type] = dict(made.params)
        self.origin: dict[str, str] = {name: name for name in made.params}
        self.stale: dict[str, str] = {}
        self.wrote: set[ast.AST] = set()
        self.removed_after_add: set[str] = set()
        self.depth = 0
        self.locals = {
            item.id for item in ast.walk(made.node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }

    # -- errors

    def refuse(self, node: ast.AST, what: str, instead: str) -> NoReturn:
        """Raise ModelError: place, line, caret, what is wrong, what to write."""
        code = self.made.python.__code__
        path = os.path.relpath(code.co_filename)
        if path.startswith(".."):
            path = code.co_filename
        number = getattr(node, "lineno", code.co_firstlineno)
        lines, first = inspect.getsourcelines(self.made.python)
        line = lines[number - first].rstrip() if 0 <= number - first < len(lines) else ""
        indent = len(lines[0]) - len(lines[0].lstrip())
        column = getattr(node, "col_offset", 0) + indent
        end = getattr(node, "end_col_offset", column + 1) or column + 1
        width = max(1, end + indent - column) if getattr(node, "end_lineno", number) == number else max(1, len(line) - column)
        if isinstance(node, ast.FunctionDef):
            column, width = indent, max(1, len(line) - indent)
        raise ModelError(f"{path}:{number}: {what}.\n  {line}\n  {' ' * column}{'^' * width}\nInstead, {instead}.")

    # -- statements

    def body(self) -> None:
        """Check the whole function."""
        node = self.made.node
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            self.refuse(node, f"{self.made.name}() has default, keyword-only or starred parameters", "use plain parameters")
        self.block(node.body)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Check statements in order; return whether control always leaves them early."""
        for statement in statements:
            if self.statement(statement):
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        """Check one statement; return whether control never comes past it."""
        match node:
            case ast.Pass():
                return False
            case ast.Break() | ast.Continue():
                return True
            case ast.Return():
                self.give_back(node)
                return True
            case ast.Expr():
                self.effect(node.value)
            case ast.Assign():
                if len(node.targets) != 1:
                    self.refuse(node, "this assigns to several targets at once", "write one assignment per target")
                self.assign(node.targets[0], node.value, node)
            case ast.AugAssign():
                self.augment(node)
            case ast.AnnAssign(value=ast.expr()):
                assert node.value is not None  # noqa: S101 (matched above)
                self.assign(node.target, node.value, node)
            case ast.If():
                return self.branch(node)
            case ast.For():
                self.loop(node)
            case _:
                word = type(node).__name__.lower()
                self.refuse(node, f"`{word}` is outside the modelling language", "use assignments, if, for, return and calls of helpers")
        return False

    def give_back(self, node: ast.Return) -> None:
        """Check a return statement."""
        given = NOTHING if node.value is None else self.value(node.value)
        if isinstance(given, Arr | BagRef | Consts):
            self.refuse(node, "a helper returns an array, a bag or the constants", "return a number, a flag or a record")
        before = self.made.returns
        if before != NOTHING and before != given:
            self.refuse(node, "this returns another type than an earlier return", "return one type everywhere")
        self.made.returns = given

    def effect(self, node: ast.expr) -> None:
        """Check an expression statement: a call of `require`, of a helper, or of a bag."""
        if not isinstance(node, ast.Call):
            self.refuse(node, "this computes a value and drops it", "assign it, or remove the line")
        if isinstance(node.func, ast.Name) and self.global_of(node.func) is require:
            if len(node.args) != 1 or node.keywords:
                self.refuse(node, "`require` takes one condition", "write require(condition)")
            if node not in {item.value for item in self.made.node.body if isinstance(item, ast.Expr)}:
                self.refuse(node, "`require` stands inside an if, a loop or a helper's body", "use it at the top level of an action")
            if not self.is_action():
                self.refuse(node, "`require` stands in a helper", "return a flag and require it in the action")
            self.number(node.args[0])
            return
        self.call(node)

    def is_action(self) -> bool:
        """Say whether the function is an action of the machine."""
        machine = self.program.machine
        return any(item.function is self.made.python for item in (machine.initial, *machine.actions))

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """Check an assignment."""
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                self.refuse(node, "this unpacks something other than a tuple of the same length", "write one assignment per name")
            for name, item in zip(target.elts, value.elts, strict=True):
                if not isinstance(name, ast.Name):
                    kind = self.place(name)
                    if isinstance(kind, Rec):
                        self.refuse(node, "this swaps records, which would duplicate one: both names refer to one place", "copy the fields through locals")
                    self.refuse(node, "a tuple assignment writes to the state", "write one assignment per field")
                del item
            given = [self.value(item) for item in value.elts]
            for name, item, kind in zip(target.elts, value.elts, given, strict=True):
                assert isinstance(name, ast.Name)  # noqa: S101 (checked above)
                self.bind(name, kind, item)
            return
        if isinstance(target, ast.Name):
            self.bind(target, self.value(value), value)
            return
        kind = self.place(target)
        given_kind = self.value(value)
        if isinstance(kind, Arr | BagRef):
            self.refuse(target, "this assigns a whole array or bag", "change its elements")
        if kind != given_kind:
            self.refuse(value, f"{_say(given_kind)} is stored where {_say(kind)} belongs", "store the same type")
        self.made.writes = True
        if isinstance(kind, Rec):
            self.overwrite(target)

    def bind(self, name: ast.Name, kind: Type, value: ast.expr) -> None:
        """Give a local name a value."""
        if isinstance(kind, Nothing | Consts | BagRef):
            self.refuse(value, f"{_say(kind)} is given a name", "use it directly")
        if name.id in self.made.params:
            self.refuse(name, f"this rebinds the parameter {name.id!r}", "use another name")
        before = self.env.get(name.id)
        if before is not None and before != kind:
            self.refuse(name, f"{name.id!r} held {_say(before)} and now gets {_say(kind)}", "use another name")
        self.env[name.id] = kind
        self.made.types[name] = kind
        self.stale.pop(name.id, None)
        self.origin[name.id] = self.path(value) if isinstance(kind, Rec | Arr) else ""

    def overwrite(self, target: ast.expr) -> None:
        """Remember which names refer to a place that has just been overwritten."""
        place = self.path(target)
        for name, origin in self.origin.items():
            if origin.startswith(place) and isinstance(self.env.get(name), Rec):
                self.stale[name] = ast.unparse(target)

    def path(self, node: ast.expr) -> str:
        """Return where a record expression lives, with indices left out: `s.replica[].log[]`."""
        match node:
            case ast.Name():
                return self.origin.get(node.id, "") or node.id
            case ast.Attribute():
                return f"{self.path(node.value)}.{node.attr}"
            case ast.Subscript():
                return f"{self.path(node.value)}[]"
        return "?"

    def augment(self, node: ast.AugAssign) -> None:
        """Check `x += 1`."""
        if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
            self.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
        if isinstance(node.target, ast.Name):
            self.load(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            self.made.types[node.target] = INT
        else:
            if self.place(node.target) != INT:
                self.refuse(node.target, "this adds to something that is not a number", "change its fields")
            self.made.writes = True
        self.number(node.value)
        self.divisor(node.op, node.value)

    def branch(self, node: ast.If) -> bool:
        """Check an if; a name is assigned after it only if both ways assign it."""
        self.number(node.test)
        before, stale = dict(self.env), dict(self.stale)
        left_early = self.block(node.body)
        after_body, stale_body = self.env, self.stale
        self.env, self.stale = dict(before), dict(stale)
        other_early = self.block(node.orelse)
        after_else, stale_else = self.env, self.stale
        if left_early:
            self.env, self.stale = after_else, stale_else
        elif other_early:
            self.env, self.stale = after_body, stale_body
        else:
            self.env = {name: kind for name, kind in after_body.items() if after_else.get(name) == kind}
            self.stale = {**stale_body, **stale_else}
        return left_early and other_early

    def loop(self, node: ast.For) -> None:
        """Check a for loop over range, an array or a bag."""
        if node.orelse:
            self.refuse(node, "`for ... else` is outside the modelling language", "use a flag")
        before = dict(self.env)
        self.iterate(node.target, node.iter)
        self.block(node.body)
        self.block(node.body)  # a second time: what the first round overwrote is stale in the next
        self.env = {name: kind for name, kind in before.items() if name in self.env}

    def iterate(self, target: ast.expr, source: ast.expr) -> None:
        """Check what a loop or a generator runs over, and bind its variable."""
        if not isinstance(target, ast.Name):
            self.refuse(target, "a loop unpacks its variable", "loop over one name")
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            if not 1 <= len(source.args) <= 2 or source.keywords:  # noqa: PLR2004 (start and stop)
                self.refuse(source, "range() takes a stop, or a start and a stop", "write range(n) or range(a, b)")
            for item in source.args:
                self.number(item)
            kind: Type = INT
        else:
            over = self.value(source)
            if isinstance(over, Arr):
                kind = _element(over.field)
            elif isinstance(over, BagRef):
                kind = Rec(over.field.record)
            else:
                self.refuse(source, "this loop runs over something else than a range, an array or a bag", "write range(n)")
        self.env.pop(target.id, None)
        self.env[target.id] = kind
        self.made.types[target] = kind
        self.stale.pop(target.id, None)
        self.origin[target.id] = f"{self.path(source)}[]" if isinstance(kind, Rec) else ""

    # -- expressions

    def number(self, node: ast.expr) -> None:
        """Check an expression that must be a number or a flag."""
        kind = self.value(node)
        if kind != INT:
            self.refuse(node, f"{_say(kind)} stands where a number belongs", "read one of its fields")

    def value(self, node: ast.expr) -> Type:
        """Check an expression and return its type."""
        kind = self._value(node)
        self.made.types[node] = kind
        return kind

    def _value(self, node: ast.expr) -> Type:  # noqa: PLR0911 (one case per construct)
        match node:
            case ast.Constant():
                if not isinstance(node.value, int):
                    self.refuse(node, f"{node.value!r} is outside the modelling language", "use whole numbers, flags and enum members")
                return INT
            case ast.Name():
                return self.load(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp():
                if not isinstance(node.op, (*ARITHMETIC, ast.FloorDiv, ast.Mod)):
                    self.refuse(node, "this operator is outside the modelling language", "use + - * // % & | ^ << >>")
                self.number(node.left)
                self.number(node.right)
                self.divisor(node.op, node.right)
                return INT
            case ast.UnaryOp():
                self.number(node.operand)
                return INT
            case ast.BoolOp():
                for item in node.values:
                    self.number(item)
                return INT
            case ast.Compare():
                return self.compare(node)
            case ast.IfExp():
                self.number(node.test)
                first, second = self.value(node.body), self.value(node.orelse)
                if first != second or not isinstance(first, Int | Rec):
                    self.refuse(node, "the two ways of this expression have different types", "use an if statement")
                return first
            case ast.Call():
                return self.call(node)
        word = type(node).__name__
        self.refuse(node, f"`{word}` is outside the modelling language", "use numbers, fields, comparisons, and, or, not, min, max, all, any, sum")

    def divisor(self, operator: ast.operator, node: ast.expr) -> None:
        """A divisor must be a positive literal: no carrier then has to define division by zero."""
        if isinstance(operator, ast.FloorDiv | ast.Mod) and not (isinstance(node, ast.Constant) and node.value):
            self.refuse(node, "this divides by something that may be zero", "divide by a literal")

    def load(self, node: ast.Name) -> Type:
        """Check the use of a name."""
        name = node.id
        if name in self.stale:
            self.refuse(node, f"{name!r} refers to a place that `{self.stale[name]} = ...` has overwritten", "copy what you need into locals before the write")
        if name in self.env:
            return self.env[name]
        if name in self.locals:
            self.refuse(node, f"{name!r} may be unassigned here", "assign it on every way that leads here")
        found = self.static(node)
        if found is None:
            known = [*self.env, *self.made.python.__globals__]
            hint = "" if self.global_of(node) is not None else nearest(name, known)
            self.refuse(node, f"{name!r} is no number, parameter or local here.{hint}".rstrip("."), "pass what is needed as an argument")
        self.made.static[node] = found
        return INT

    def global_of(self, node: ast.expr) -> Any:
        """Return the module-level object that a dotted name stands for, or None."""
        match node:
            case ast.Name():
                if node.id in self.env or node.id in self.locals:
                    return None
                return self.made.python.__globals__.get(node.id, getattr(builtins, node.id, None))
            case ast.Attribute():
                owner = self.global_of(node.value)
                if isinstance(owner, types.ModuleType) or (isinstance(owner, type) and issubclass(owner, IntEnum)):
                    return getattr(owner, node.attr, None)
        return None

    def static(self, node: ast.expr) -> int | None:
        """Return the number that a global name stands for, or None."""
        found = self.global_of(node)
        return int(found) if isinstance(found, int) else None

    def attribute(self, node: ast.Attribute) -> Type:
        """Check `record.field`, `c.constant` or a global number."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.env and root.id not in self.locals:
            found = self.static(node)
            if found is None:
                self.refuse(node, f"{ast.unparse(node)!r} is no number", "use an enum member or a module-level number")
            self.made.static[node] = found
            return INT
        owner = self.value(node.value)
        if isinstance(owner, Consts):
            known = list(self.program.machine.constants.declared())
            if node.attr not in known:
                self.refuse(node, f"there is no constant {node.attr!r}.{nearest(node.attr, known)}".rstrip("."), f"use one of: {', '.join(known)}")
            return INT
        if isinstance(owner, Rec):
            found_field = dict(fields(owner.record)).get(node.attr)
            if found_field is None:
                names = [name for name, _ in fields(owner.record)]
                self.refuse(
                    node,
                    f"record {owner.record.__name__} has no field {node.attr!r}.{nearest(node.attr, names)}".rstrip("."),
                    f"use one of: {', '.join(names)}",
                )
            if node.attr.startswith("ghost_"):
                self.made.reads_ghost = self.made.reads_ghost or node.attr
            return _of(found_field)
        self.refuse(node, f"{_say(owner)} has no fields", "read a field of a record")

    def subscript(self, node: ast.Subscript) -> Type:
        """Check `array[index]`."""
        owner = self.value(node.value)
        if not isinstance(owner, Arr):
            self.refuse(node, f"{_say(owner)} is indexed", "index an array")
        self.number(node.slice)
        literal = self.literal(node.slice)
        if literal is not None and literal < 0:
            what = "NONE is used as an index" if literal == NONE else f"{literal} is used as an index"
            self.refuse(node.slice, what, "test for NONE first, and index with a number from 0")
        return _element(owner.field)

    def literal(self, node: ast.expr) -> int | None:
        """Return the number that an expression is for sure, or None."""
        if isinstance(node, ast.Constant):
            return int(node.value) if isinstance(node.value, int) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.literal(node.operand)
            return None if inner is None else -inner
        return self.made.static.get(node)

    def place(self, node: ast.expr) -> Type:
        """Check the target of a store and return what it holds."""
        if not isinstance(node, ast.Attribute | ast.Subscript):
            self.refuse(node, "this cannot be assigned", "assign a local name or a field")
        kind = self.attribute(node) if isinstance(node, ast.Attribute) else self.subscript(node)
        self.made.types[node] = kind
        root: ast.expr = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if isinstance(root, ast.Name) and isinstance(self.env.get(root.id), Consts):
            self.refuse(node, "a constant is assigned", "keep what changes in the state")
        machine = self.program.machine
        for item in machine.actions:
            if item.function is self.made.python and isinstance(root, ast.Name):
                origin = (self.origin.get(root.id) or root.id).split(".", maxsplit=1)[0]
                if origin in [name for name, domain in item.params if isinstance(domain, InFlight)]:
                    self.refuse(node, "a message that was received is changed", "remove it and add another")
        return kind

    def compare(self, node: ast.Compare) -> Type:
        """Check a comparison of numbers."""
        self_kind = self.value(node.left)
        for operator, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn):
                if not isinstance(other, ast.Tuple) or len(node.ops) != 1:
                    self.refuse(other, "`in` is used with something else than a tuple of numbers", "write x in (A, B), or a helper of `bits`")
                for item in other.elts:
                    self.number(item)
                continue
            if isinstance(operator, ast.Is | ast.IsNot):
                self.refuse(node, "`is` is outside the modelling language", "compare numbers with ==")
            kind = self.value(other)
            if kind != INT or self_kind != INT:
                self.refuse(node, "records are compared as a whole", "compare their fields")
        if self_kind != INT:
            self.refuse(node, "records are compared as a whole", "compare their fields")
        return INT

    def call(self, node: ast.Call) -> Type:
        """Check a call of a builtin, a helper or a bag."""
        if isinstance(node.func, ast.Attribute):
            root = node.func.value
            owner = self.value(root) if self.global_of(root) is None else None
            if isinstance(owner, BagRef):
                return self.bag_call(node, owner)
        found = self.global_of(node.func)
        name = getattr(found, "__name__", ast.unparse(node.func))
        if found is getattr(builtins, name, None) and name in FOLDS:
            return self.fold(node, name)
        if found is getattr(builtins, name, None) and name in BUILTINS:
            return self.builtin(node, name)
        if isinstance(found, Action | Property):
            self.refuse(node, f"{ast.unparse(node.func)!r} is an action or a property", "put what both need into a helper")
        if not isinstance(found, types.FunctionType):
            self.refuse(node, f"{ast.unparse(node.func)!r} is no helper that the language knows", "call a function of a model file, or min, max, abs, len, all, any, sum")
        if node.keywords:
            self.refuse(node, "a helper is called with keyword arguments", "pass arguments by position")
        callee = self.program.function(found, tuple(self.value(item) for item in node.args))
        self.made.calls[node] = callee
        self.made.writes = self.made.writes or callee.writes
        self.made.reads_ghost = self.made.reads_ghost or callee.reads_ghost
        return callee.returns

    def builtin(self, node: ast.Call, name: str) -> Type:
        """Check min, max, abs, len, int, bool."""
        if node.keywords:
            self.refuse(node, f"{name}() is called with keyword arguments", "pass numbers")
        if name == "len":
            kind = self.value(node.args[0])
            if not isinstance(kind, Arr | BagRef):
                self.refuse(node, f"len() of {_say(kind)}", "take the length of an array or a bag")
            return INT
        for item in node.args:
            self.number(item)
        if name in ("min", "max") and len(node.args) < 2:  # noqa: PLR2004 (a minimum of one thing is a slip)
            self.refuse(node, f"{name}() of one argument", "pass two numbers or more, or write a loop")
        return INT

    def fold(self, node: ast.Call, name: str) -> Type:
        """Check all(...), any(...), sum(...) over a generator."""
        if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
            self.refuse(node, f"{name}() is given something else than a generator", f"write {name}(condition for x in range(n))")
        generator = node.args[0]
        before, stale, origin = dict(self.env), dict(self.stale), dict(self.origin)
        for clause in generator.generators:
            self.iterate(clause.target, clause.iter)
            for test in clause.ifs:
                self.number(test)
        self.number(generator.elt)
        self.env, self.stale, self.origin = before, stale, origin
        return INT

    def bag_call(self, node: ast.Call, owner: BagRef) -> Type:
        """Check `s.bag.add(field=...)` and `s.bag.remove(m)`."""
        assert isinstance(node.func, ast.Attribute)  # noqa: S101 (the caller looked)
        self.made.writes = True
        bag = ast.unparse(node.func.value)
        record = owner.field.record
        if node.func.attr == "add":
            self.removed_after_add.add(bag)
            known = dict(fields(record))
            if node.args:
                self.refuse(node, "a message is added with fields that are not named", "write s.bag.add(field=value, ...)")
            for item in node.keywords:
                if item.arg not in known:
                    self.refuse(item.value, f"message {record.__name__} has no field {item.arg!r}.{nearest(str(item.arg), list(known))}".rstrip("."), f"use one of: {', '.join(known)}")
                if not isinstance(known[item.arg], Scalar):
                    self.refuse(item.value, f"field {item.arg!r} is no number", "fill it in through the reference that add() returns")
                self.number(item.value)
            return Rec(record)
        if node.func.attr == "remove":
            if bag in self.removed_after_add:
                self.refuse(node, "a message is removed after one was added, which moves the new one", "remove first, then add")
            if len(node.args) != 1 or self.value(node.args[0]) != Rec(record):
                self.refuse(node, "remove() takes the message to remove", f"pass a {record.__name__} that was received")
            return NOTHING
        self.refuse(node, f"a bag has no method {node.func.attr!r}", "use add, remove, len and for")


def _of(kind: FieldType) -> Type:
    if isinstance(kind, Scalar):
        return INT
    if isinstance(kind, Nested):
        return Rec(kind.record)
    return Arr(kind) if isinstance(kind, ArrayOf) else BagRef(kind)


def _element(kind: ArrayOf) -> Type:
    return _of(kind.element)


def _say(kind: Type) -> str:
    match kind:
        case Int():
            return "a number"
        case Rec():
            return f"a record {kind.record.__name__}"
        case Arr():
            return "an array"
        case BagRef():
            return "a bag"
        case Consts():
            return "the constants"
    return "nothing"


@dataclass(frozen=True)
class Guards:
    """The guards of every action: their text, and which one refused."""

    lines: dict[str, list[tuple[int, int, str]]]
    """By action: first line, last line, condition."""

    def texts(self, item: Action) -> list[str]:
        """Return the conditions of an action's guards, in order."""
        return [text for _, _, text in self.lines[item.name]]

    def refused(self, item: Action, error: BaseException) -> int:
        """Return the number of the guard that raised this DisabledError; -1 if a message was no longer in flight."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is item.function.__code__:
                for number, (first, last, _) in enumerate(self.lines[item.name]):
                    if first <= trace.tb_lineno <= last:
                        return number
            trace = trace.tb_next
        return -1


def guards_of(program: Program) -> Guards:
    """Return the guards of a checked machine."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    for item in program.machine.actions:
        made = program.actions[item.name]
        found[item.name] = [
            (statement.lineno, statement.end_lineno or statement.lineno, ast.unparse(statement.value.args[0]))
            for statement in made.node.body[: made.guards]
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _is_require(made, statement)
        ]
    return Guards(found)
