"""A machine checked against the language, with all functions that it uses, and a type for every expression."""

import ast
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from fencepost.explorers.program.subset import kinds
from fencepost.explorers.program.subset.kinds import CONSTS, INT, NOTHING, Arr, BagRef, Function, Queue, Rec, Type, say
from fencepost.explorers.program.subset.places import Scope, meaning, refusal
from fencepost.explorers.program.subset.sources import require_numbers
from fencepost.explorers.program.subset.statements import Statements
from fencepost.model.language.actions import Action, Property, require
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import ModelError, nearest
from fencepost.model.language.fairness import Fairness
from fencepost.model.language.machine import Machine
from fencepost.model.language.own_names import at_line, path_shown
from fencepost.model.language.records import ArrayOf, BagOf, Nested, Record, Scalar, fields, pointed_at
from fencepost.model.language.trees import module_of, source_lines, was_edited

Named = TypeVar("Named")
Looked = TypeVar("Looked")
MOST_DEEP = 150
MOST_CALLS = 64
"""Maximum depth of nested calls, because engines follow calls recursively."""
MOST_BOUNDS = 62
"""Maximum number of bounds in a machine, because compiled code stores sets of bounds as numbers."""


@dataclass(frozen=True)
class Behaviour:
    when: Function | None
    then: Function
    cost: Function | None


class Program:
    def __init__(self, machine: Machine, properties: tuple[Property, ...] = (), known: "Program | None" = None) -> None:
        self.machine, self.asked = machine, properties
        self.functions: dict[Callable[..., Any], Function] = {}
        self.known: dict[Callable[..., Any], Function] = known.functions | known.known if known else {}
        """Functions that were checked for this machine before."""
        self.reads: kinds.Reads = dict(known.reads) if known else {}
        """Module-level names that checked functions read, with their meanings."""
        self._open: list[Callable[..., Any]] = []
        self._refused: dict[str, ModelError] = {}
        _check_bags(machine.state)
        require_numbers(machine)
        _check_names("actions", [item.label for item in machine.actions])
        _check_names("properties", [item.name for item in properties])
        initial = self._each([machine.initial], self._initial)
        self.actions = self._each(machine.actions, self._action)
        normalize = self._each([machine.normalize] if machine.normalize else [], self._normalize)
        self.properties = self._each([item for item in properties if item.eventual is None], self._property)
        self.behaviours = self._each([item for item in properties if item.eventual is not None], self._behaviour)
        if len(self._refused) == 1:
            raise next(iter(self._refused.values()))
        if self._refused:
            raise ModelError("\n\n".join(_together(self._refused)))
        [self.initial] = initial.values()
        self.normalize = next(iter(normalize.values()), None)

    def _each(self, items: Iterable[Named], look: Callable[[Named], Looked]) -> dict[str, Looked]:
        """Check each item and return the results by name. Collect the errors of all items, not only the first one."""
        found = {}
        for item in items:
            name = item.name if isinstance(item, Action | Property) else "normalize"
            try:
                found[name] = look(item)
            except ModelError as error:
                self._refused.setdefault(str(error), error)
                self._open.clear()
        return found

    def _initial(self, item: Action) -> Function:
        made = self._action(item)
        self._keeps_all(made, "in `initial`")
        for guard in made.bounds:
            what = "a guard of `initial` has a bound, but searches do not count excluded initial states"
            Scope(self, made).refuse(guard, what, "write require(condition)")
        return made

    def function(self, python: Callable[..., Any], arguments: tuple[Type, ...]) -> Function:
        found = self.functions.get(python) or self._again(self.known.get(python))
        if found is not None:
            given = tuple(found.params.values())
            if given != arguments:
                what = f"{found.name}() is called with arguments of different types"
                Scope(self, found).refuse(found.node, what, "give each type its own helper")
            return found
        made = _read(python)
        scope = Scope(self, made)
        what, instead = "calls itself", "use a loop with a fixed bound"
        if python not in self._open:
            what = f"is called {MOST_CALLS} levels deep, counted from the action or property"
            instead = "combine some of the helpers into one"
        if python in self._open or len(self._open) == MOST_CALLS:
            scope.refuse(made.node, f"{made.name}() {what}", instead)
        if hasattr(python, "__wrapped__"):
            instead = "write out the decorated code"
            scope.refuse(
                made.node,
                f"{made.name}() is inside a decorator, but engines do not read the source of decorators",
                instead,
            )
        if python.__code__.co_freevars:
            free = ", ".join(python.__code__.co_freevars)
            instead = "pass an argument"
            scope.refuse(made.node, f"{made.name}() reads a variable of the enclosing function: {free}", instead)
        names = [item.arg for item in made.node.args.args]
        if len(names) != len(arguments):
            words = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
            wanted = ", ".join(map(_called, arguments))
            what = f"{made.name}() takes {words} ({', '.join(names)}) but gets {len(arguments)}"
            scope.refuse(made.node, what, f"declare parameters for its arguments: def {made.name}({wanted})")
        made.params = dict(zip(names, arguments, strict=True))
        self._open.append(python)
        Statements(Scope(self, made)).body()
        self._open.pop()
        self.functions[python] = made
        return made

    def _again(self, known: Function | None) -> Function | None:
        if known and known.python not in self.functions:
            self.functions[known.python] = known
            for helper in known.calls.values():
                self._again(helper)
        return known

    def is_current(self) -> bool:
        return all(meaning(where, name) is found for where, name, found in self.reads.values())

    def _action(self, item: Action) -> Function:
        state = self.machine.state
        arguments: list[Type] = [Rec(state), CONSTS]
        for name, domain in item.params[: len(item.params) - item.drawn]:
            if isinstance(domain, InFlight):
                arguments.append(Rec(_bag(state, domain.bag, item, name).record))
            else:
                assert isinstance(domain, Domain)
                arguments.append(INT)
        made = self.function(item.function, tuple(arguments))
        _check_guards(self, made)
        return made

    def _normalize(self, python: Callable[..., Any]) -> Function:
        made = self.function(python, (Rec(self.machine.state), CONSTS))
        if made.returns != NOTHING:
            Scope(self, made).refuse(made.node, f"{made.name}() returns a value", "change the state in place")
        self._keeps_all(made, "in `normalize`")
        return made

    def _keeps_all(self, made: Function, where: str) -> None:
        """Require that `fits` is used only in effects, because omissions elsewhere would be hard to notice."""
        if made.drops is not None:
            Scope(self, made).refuse(made.drops, f"`fits` is used {where}", "write the condition alone")

    def _property(self, item: Property) -> Function:
        state = Rec(self.machine.state)
        arguments: tuple[Type, ...] = (state, state, CONSTS) if item.over_steps else (state, CONSTS)
        if item.on is not None:
            self._require_same_parameters(item, item.on)
            arguments += tuple(
                Rec(_bag(self.machine.state, domain.bag, item.on, name).record) if isinstance(domain, InFlight) else INT
                for name, domain in item.on.params
            )
        arguments += (INT,) * len(item.params)
        return self._reading(item, item.function, arguments)

    def _require_same_parameters(self, item: Property, on: Action) -> None:
        """Reject a property of an action's steps if a variant replaced the action and changed its parameters."""
        own = next((one.params for one in self.machine.actions if one.name == on.name), on.params)
        there, here = (", ".join(name for name, _ in params) or "no parameter" for params in (on.params, own))
        if there != here:
            raise ModelError(
                f"property {item.name!r} is about steps of {on.label!r} with {there}, but in machine "
                f"{self.machine.name!r} this action has {here}: give the action the same parameters, or write a "
                "property about the new parameters."
            )

    def _reading(
        self, item: Property, python: Callable[..., Any], arguments: tuple[Type, ...], instead: str = "a flag"
    ) -> Function:
        made = self.function(python, arguments)
        if made.writes:
            Scope(self, made).refuse(made.node, f"property {item.name!r} changes the state", "only read the state")
        if made.returns != INT:
            what = f"property {item.name!r} returns {say(made.returns)}"
            Scope(self, made).refuse(made.node, what, f"return {instead}")
        self._keeps_all(made, "in a property")
        return made

    def _behaviour(self, item: Property) -> Behaviour:
        about, state = item.behaviour, Rec(self.machine.state)
        costs = about.costs
        known = [action.label for action in self.machine.actions]
        charged = () if costs is None or callable(costs) else tuple(name for name, _ in costs)
        for name in (*(action.name for action in about.mentioned), *charged):
            if name not in [action.name for action in self.machine.actions]:
                label = name.replace("_", "-")
                raise ModelError(
                    f"property {item.name}: machine {self.machine.name!r} has no action "
                    f"{label!r}.{nearest(label, known, 'The actions are:')}"
                )
        for fair in about.fair:
            _check_each(self.machine, item, fair)
        arguments: tuple[Type, ...] = (state, CONSTS, *(INT for _ in about.params))
        return Behaviour(
            None if about.when is None else self._reading(item, about.when, arguments),
            self._reading(item, about.then, arguments),
            self._reading(item, costs, (state, state, CONSTS), "a number") if callable(costs) else None,
        )


def _together(refused: Iterable[str]) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for text in refused:
        said, _, instead = text.partition("\n")
        place, _, what = said.partition(": ")
        found.setdefault((what, instead.rpartition("\n")[2]), []).append(f"{place}|{text}")
    texts = []
    for same in found.values():
        others = [item.partition("|")[0].rpartition(":")[2] for item in same[1:]]
        more = f" The same error is on line{'' if len(others) == 1 else 's'} {', '.join(others)}." if others else ""
        texts.append(same[0].partition("|")[2] + more)
    return texts


def _called(kind: Type) -> str:
    if kind == CONSTS:
        return "c"
    return "s" if isinstance(kind, Rec) else "number"


def check(machine: Machine, properties: tuple[Property, ...] = ()) -> Program:
    """Return the checked program. Functions are checked once per machine, and again if a name they read is rebound."""
    found: Program | None = machine.kept.get("checked")
    known = found if found and found.is_current() else None
    if known is None or list(map(id, known.asked)) != list(map(id, properties)):
        machine.kept["checked"] = known = Program(machine, properties, known)
    return known


def _check_each(machine: Machine, item: Property, fair: Fairness) -> None:
    """Require that the parameters and message fields in `each` exist. Grouped actions need equal parameter types."""
    sorts: dict[str, tuple[Action, str]] = {}
    for action in (machine.action(named.name) for named in fair.actions):
        params = dict(action.params)
        for name in fair.each:
            param, _, field = name.partition(".")
            domain = params.get(param)
            if domain is None:
                raise ModelError(
                    f"property {item.name}: `{fair}`: action {action.label!r} of this machine "
                    f"has no parameter {param!r}."
                )
            sort = "a number"
            if isinstance(domain, InFlight):
                message = _bag(machine.state, domain.bag, action, param).record
                sort = "a message" if field else f"a message of class {message.__name__}"
            first, other = sorts.setdefault(name, (action, sort))
            if sort != other:
                raise ModelError(
                    f"property {item.name}: `{fair}`: {param!r} is {other} in {first.label}, and {sort} in "
                    f"{action.label}, which are never equal. Give each action its own fairness constraint."
                )
            if field and isinstance(domain, InFlight):
                record = dict(fields(message))
                if not isinstance(record.get(field), Scalar):
                    known = [found for found, kind in record.items() if isinstance(kind, Scalar)]
                    raise ModelError(
                        f"property {item.name}: `{fair}`: the message {param!r} has no field {field!r} that is a "
                        f"number or a flag.{nearest(field, known, 'Write one of:')}"
                    )


def _check_bags(state: type[Record], inside: str = "") -> None:
    for name, item in fields(state):
        if isinstance(item, BagOf) and inside:
            said = (
                f"{inside}.{name}: a bag must be a field of the state itself: declare one bag in the state, whose "
                "messages have a field such as `to`."
            )
            raise ModelError(pointed_at(state, name, said))
        record = item.record if isinstance(item, Nested | BagOf) else None
        if isinstance(item, ArrayOf) and isinstance(item.element, Nested):
            record = item.element.record
        if record is not None:
            _check_bags(record, record.__name__)


def _check_names(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"two {what} are named {name!r}: counts and traces distinguish them by name. Rename one.")


def _bag(state: type[Record], bag: str, item: Action, param: str) -> BagOf:
    found = dict(fields(state)).get(bag)
    if not isinstance(found, BagOf):
        known = [name for name, kind in fields(state) if isinstance(kind, BagOf)]
        code = item.function.__code__
        said = (
            f"action {item.name}: InFlight({bag!r}) for {param!r}: the state has no such bag."
            f"{nearest(bag, known, 'The bags are:')}"
        )
        raise ModelError(at_line(code.co_filename, code.co_firstlineno, said) or said)
    return found


_NODES: WeakKeyDictionary[Callable[..., Any], ast.FunctionDef] = WeakKeyDictionary()
"""A cache of parsed functions, because each model is checked many times."""


def _read(python: Callable[..., Any]) -> Function:
    if python not in _NODES:
        _NODES[python] = _parse(python)
    return Function(python, _NODES[python], {})


def _parse(python: Callable[..., Any]) -> ast.FunctionDef:
    try:
        lines, first = source_lines(python)
    except (OSError, TypeError):
        said = f"{getattr(python, '__name__', repr(python))}() has no source code, but the checker must read it"
        raise ModelError(f"{said}. Write the function in a file.") from None
    if was_edited(python):
        raise ModelError(
            f"{path_shown(python.__code__.co_filename)} was edited after it was imported, but {python.__name__}() "
            "still runs the old source. Restart Python, or reload the module with importlib.reload."
        )
    text = textwrap.dedent("".join(lines))
    try:
        node: ast.stmt = module_of(text).body[0]
    except SyntaxError:  # a lambda is inside another expression
        node = ast.Pass()
    if not isinstance(node, ast.FunctionDef):
        where, line = f"{path_shown(python.__code__.co_filename)}:{first}", lines[0].strip()
        caret, what, instead = "^" * len(line), f"{python.__name__}()", "write it with `def`"
        if python.__name__ == "<lambda>":
            caret = " " * max(0, line.find("lambda")) + "^" * len("lambda")
            what, instead = "a lambda", "define the function with `def` above, and write its name here"
        raise ModelError(f"{where}: {what} is not a plain function.\n  {line}\n  {caret}\nInstead, {instead}.")
    ast.increment_lineno(node, first - 1)
    _require_depth(python, node)
    if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
        node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
    return node


def _require_depth(python: Callable[..., Any], node: ast.FunctionDef) -> None:
    for statement in node.body:
        level: list[ast.AST] = [statement]
        for _ in range(MOST_DEEP):
            level = [inner for item in level for inner in ast.iter_child_nodes(item)]
        if level:
            what = (
                f"this is nested more than {MOST_DEEP} levels deep: each operand of a sum and each `elif` is one level"
            )
            raise refusal(python, statement, what, "move parts into helpers or separate statements")


def _check_guards(program: Program, made: Function) -> None:
    """Require that guards are at the top level, precede all writes, and read no ghost variables."""
    scope = Scope(program, made)
    ends = (place for place, item in enumerate(made.node.body, 1) if is_require(made.python, item))
    made.guards = max(ends, default=0)
    for statement in made.node.body[: made.guards]:
        for node in ast.walk(statement):
            callee = made.calls.get(node)
            if isinstance(node, ast.Return):
                instead = "write each condition of the action as a guard, require(condition), and put all guards first"
                scope.refuse(node, "the function returns before the last `require`", instead)
            if _is_write(made, node) or (callee is not None and callee.writes):
                instead = "put all guards first, then the writes"
                scope.refuse(node, "the action changes the state before the last `require`", instead)
            drops = node in made.bounds and not (isinstance(statement, ast.Expr) and node is statement.value)
            if drops or (callee is not None and callee.drops):
                instead = "write require(condition, bound=...) instead"
                scope.refuse(node, "`fits` is used before the last `require`", instead)
            if isinstance(node, ast.Attribute) and node.attr.startswith("ghost_"):
                instead = "ghosts are for properties: store what the protocol knows in another field"
                scope.refuse(node, f"a guard reads the ghost {node.attr!r}", instead)
            kind = made.types.get(node.left) if isinstance(node, ast.Compare) else None
            if isinstance(kind, Arr) and isinstance(kind.field.element, Nested):
                kind = Rec(kind.field.element.record)
            ghost = _ghost_in(kind.record) if isinstance(kind, Rec) else ""
            if ghost:
                instead = "compare the fields that the protocol knows"
                scope.refuse(node, f"a guard compares whole records, including the ghost {ghost!r}", instead)
            if callee is not None and callee.reads_ghost:
                what = f"a guard calls {callee.name}(), which reads the ghost {callee.reads_ghost!r}"
                scope.refuse(node, what, "ghosts are for properties only")


def _ghost_in(record: type[Record]) -> str:
    for name, kind in fields(record):
        inner = kind.element if isinstance(kind, ArrayOf) else kind
        found = name if name.startswith("ghost_") else _ghost_in(inner.record) if isinstance(inner, Nested) else ""
        if found:
            return found
    return ""


def is_require(python: Callable[..., Any], statement: ast.stmt) -> bool:
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return isinstance(called, ast.Name) and python.__globals__.get(called.id) is require


def guard_calls(made: Function) -> list[ast.Call]:
    return [item.value for item in made.node.body if is_require(made.python, item)]  # type: ignore[attr-defined]


def _is_write(made: Function, node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node not in made.types:
        return False
    return isinstance(made.types.get(node.func.value), BagRef | Queue)


@dataclass(frozen=True)
class Guards:
    found: dict[str, list[tuple[tuple[int, int], int, str]]]
    """For each `require` of an action: the line and column where the call starts, its last line, and the condition."""
    bounds: dict[str, tuple[str | None, ...]]
    """The constant whose bound each guard of an action enforces, or None for a rule of the protocol."""
    declared: tuple[str, ...]
    """Constants whose bounds are enforced by guards or effects, in the order of the constants."""
    numbers: dict[tuple[str, int], int] = field(default_factory=dict, compare=False)
    """Guards, keyed by action and by the instruction that raised the error."""

    def texts(self, item: Action) -> list[str]:
        return [text for _, _, text in self.found[item.name]]

    def refused(self, item: Action, error: BaseException) -> int:
        """Return the number of the guard that raised a DisabledError, or -1 if a message was not in flight."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is item.function.__code__:
                at = item.name, trace.tb_lasti
                if at not in self.numbers:
                    self.numbers[at] = self._number(item, trace)
                if self.numbers[at] >= 0:
                    return self.numbers[at]
            trace = trace.tb_next
        return -1

    def _number(self, item: Action, trace: TracebackType) -> int:
        positions = item.function.__code__.co_positions()
        line, _, column, _ = next(islice(positions, trace.tb_lasti // 2, None))
        for number, (start, last, _) in enumerate(self.found[item.name]):
            # without columns (`-X no_debug_ranges`), only the line is known
            if start == (line, column) or (column is None and start[0] <= trace.tb_lineno <= last):
                return number
        return -1


def guards_of(program: Program) -> Guards:
    found: dict[str, list[tuple[tuple[int, int], int, str]]] = {}
    bounds: dict[str, tuple[str | None, ...]] = {}
    for item in program.machine.actions:
        made = program.actions[item.name]
        first = source_lines(made.python)[0][0]
        indent = len(first) - len(first.lstrip())
        calls = guard_calls(made)
        found[item.name] = [
            ((call.lineno, call.col_offset + indent), call.end_lineno or call.lineno, ast.unparse(call.args[0]))
            for call in calls
        ]
        bounds[item.name] = tuple(made.bounds.get(call) for call in calls)
    return Guards(found, bounds, bounds_of(program))


def bounds_of(program: Program) -> tuple[str, ...]:
    known = {name for made in program.functions.values() for name in made.bounds.values()}
    found = tuple(name for name in program.machine.constants.declared() if name in known)
    if len(found) > MOST_BOUNDS:
        raise ModelError(
            f"machine {program.machine.name!r} has guards for {len(found)} bounds, but a search counts at most "
            f"{MOST_BOUNDS}. Omit `bound=` if a constant is not a bound."
        )
    return found
