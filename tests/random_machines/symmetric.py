"""Random machines whose things may be interchangeable: whether the tool may say so, and what searches with it find."""

import random
import re
from typing import Any

from fencepost.explorers import plain, search
from fencepost.explorers.program.ir.interchange import require_interchangeable
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError, ModelError
from fencepost.model.language.symmetry import Symmetry

from tests.helpers.symmetry import distinguished

HEAD = """
from typing import Annotated
from fencepost.model.language import (
    NONE, Array, Bag, BitSet, Constants, InFlight, Index, Machine, Per, Range, Record, Size, action, always, bits,
    require, shape, sometimes, step,
)
class C(Constants):
    n = shape(3, low=1, high=4, meaning="things")
Thing = Annotated[int, Index(C.n)]
Maybe = Annotated[int, Index(C.n, none=True)]
Things = Annotated[int, BitSet(C.n)]
class Part(Record):
    x: Annotated[int, Range(-1, 2)]
    at: Maybe
    seen: Things
    row: Annotated[Array[bool], Per(Thing)]
class Message(Record):
    to: Thing
    v: Annotated[int, Range(0, 1)]
class Note(Record):
    v: Annotated[int, Range(0, 1)]
class State(Record):
    k: Annotated[int, Range(0, 3)]
    part: Annotated[Array[Part], Per(Thing)]
    who: Maybe
    all: Things
    order: Annotated[Array[Maybe], Size(2)]
    box: Annotated[Bag[Message], Size(2)]
    log: Annotated[Bag[Note], Size(4)]
def few(s: State, c: C) -> bool:
    return len(s.box) < 1
@action()
def initial(s: State, c: C) -> None:
    "It starts."
    for p in s.part:
        p.at = NONE
    s.order[0] = NONE
    s.order[1] = NONE
    s.who = {who}
    s.all = {all}
"""
TAKES = """@action(m=InFlight("box"))
def take(s: State, c: C, m: Message) -> None:
    "It takes."
    t = m.to
    s.box.remove(m)
    """
NEVER = """@always
def never(s: State, c: C) -> bool:
    "It holds."
    return """
EACH = """@always(t=Thing)
def each(s: State, c: C, t: int) -> bool:
    "It holds of each."
    return """
GROWS = """@sometimes
def grows(before: State, after: State, c: C) -> bool:
    "It grows."
    return any(after.part[i].x > before.part[i].x for i in range(c.n))


def normalize(s: State, c: C) -> None:
    if s.who == NONE:
        """
MACHINE = """MACHINE = Machine("drawn", "Drawn", State, C, initial, ({names}, take), interchangeable=Thing{more})
PROPERTIES = (never, each, grows)"""
CONDITIONS = (
    "s.part[A].x < 2", "s.part[A].x == s.part[B].x", "s.who == A", "s.who != NONE", "s.who >= 0", "A != B", "s.k < 2",
    "bits.contains(s.all, A)", "A in s.part[B].seen", "s.part[A].at == B", "not s.part[A].row[B]", "s.order[0] == A",
    "all(p.x < 2 for p in s.part)", "any(s.part[i].at == A for i in range(c.n))", "sum(p.x for p in s.part) < 3",
    "bits.size(s.all) > 1", "max(p.x for p in s.part) < 2",
    "min((s.part[i].x for i in range(c.n) if i != A), default=0) < 1",
    "s.all & ~s.part[A].seen == 0", "all(m.to != A for m in s.box)", "len(s.box) < 1", "A not in (s.who, s.order[1])",
)  # fmt: skip
DOUBTFUL = (
    "s.who <= A", "A == 0", "s.part[0].x == 1", "min(A, B) == A", "s.order[0] < s.order[1]", "s.all & 1 == 1",
    "s.all == 1", "all(s.part[i].x <= s.part[i + 1].x for i in range(c.n - 1))", "s.k == A",
    "any(s.part[i].x >= s.part[j].x for i in range(c.n) for j in range(i))", "s.all > s.part[A].seen",
)  # fmt: skip
EFFECTS = (
    "s.part[A].x = (s.part[B].x + 1) % 3", "s.part[A].at = B", "s.part[A].at = NONE", "s.who = A", "s.who = NONE",
    "s.part[A].seen = bits.with_member(s.part[A].seen, B)", "s.all = bits.without(s.all, A)", "s.all |= 1 << A",
    "s.all = bits.everyone(c.n)", "s.k = (s.k + 1) % 4", "s.order[0] = A", "s.order[1] = s.who",
    "s.part[A] = s.part[B]",
    "s.part[A].row[B] = True", "if len(s.box) < 2:\n        s.box.add(to=A, v=s.k % 2)", "s.part[A].x = -1",
    "for p in s.part:\n        p.x = 0", "for i in range(c.n):\n        s.part[i].at = s.who",
    "for i in range(c.n):\n        if bits.contains(s.all, i):\n            s.part[i].x = 1",
    "total = 0\n    for p in s.part:\n        total += max(p.x, 0)\n    s.k = min(total, 3)",
    "x = -1\n    for p in s.part:\n        if not p.row[A]:\n            x = max(x, p.x)\n    s.part[A].x = x",
    "for p in s.part:\n        old = p.x\n        p.x = (old + 1) % 3", "s.part[A].at = s.who if s.k > 1 else B",
    "x = 0\n    for i in range(c.n):\n        if s.part[i].x > 0:\n            x |= 1 << i\n    s.all = x",
    "for i in range(c.n):\n        for j in range(c.n):\n            s.part[i].row[j] = s.part[i].x > 0",
    "r = s.part[A].row\n    for i in range(c.n):\n        r[i] = s.part[i].x > 0",
    "if len(s.log) == 0:\n        for p in s.part:\n            s.log.add(v=p.x % 2)",
)  # fmt: skip
DARING = (
    "s.who = 0", "s.part[0].x = 1", "s.part[A].x = A % 3", "s.all = 1", "s.order[A % 2] = A",
    "for i in range(c.n):\n        if s.part[i].x > 0:\n            s.who = i",
    "for i in range(c.n):\n        s.part[i].x = s.part[c.n - 1 - i].x",
    "for p in s.part:\n        p.x = (s.part[A].x + 1) % 3", "if len(s.box) < 2:\n        s.box.add(v=1)",
    "for i in range(c.n):\n        if s.part[i].x > 0:\n            s.who = i\n            break",
    "for i in range(c.n):\n        s.part[A].x = s.part[i].x", "s.k = min(A, 3)", "s.part[A] = Part(x=1)",
    "seen = 0\n    for i in range(c.n):\n        seen = (2 * seen + max(s.part[i].x, 0)) % 3\n    s.k = seen",
    "for m in s.box:\n        s.who = m.to",
    "x = 0\n    for p in s.part:\n        if x == 0 and p.x > 0:\n            x = 1\n            p.x = 0",
    "for i in range(c.n):\n        if few(s, c):\n            s.box.add(to=i, v=0)",
    "for i in range(c.n):\n        for j in range(c.n):\n            s.part[i].row[j] = s.part[j].row[i]",
    "for i in range(c.n):\n        s.part[B].row[i] = s.part[i].row[A]",
    "r = s.part[A].row\n    for i in range(c.n):\n        if not r[B]:\n            r[i] = True",
    "r = s.part[A].row\n    q = s.part[B].row\n    for i in range(c.n):\n        r[i] = q[A]",
    "for i in range(c.n):\n        if s.part[i].at != NONE:\n            s.part[i] = s.part[s.part[i].at]",
    ("if len(s.log) == 0:\n        for p in s.part:\n            s.log.add(v=p.x % 2)\n"
     "        for m in s.log:\n            s.k = m.v"),
)  # fmt: skip


def text_of(seed: int) -> str:
    """Return a model; one of three may distinguish its things."""
    chosen = random.Random(seed)  # noqa: S311 (no secret)
    odd = 12 if seed % 3 == 0 else 0

    def drawn(usual: tuple[str, ...], doubtful: tuple[str, ...], things: str) -> str:
        text = chosen.choice(doubtful if chosen.randrange(100) < odd else usual)
        while not things and re.search(r"\b[AB]\b", text):
            text = chosen.choice(usual)
        return re.sub(r"\bB\b", things[-1:], re.sub(r"\bA\b", things[:1], text))

    parts = [HEAD.format(who=chosen.choice(["NONE", "NONE", "0"]), all=chosen.choice(["0", "bits.everyone(c.n)"]))]
    names = [f"act{number}" for number in range(2 + chosen.randrange(3))]
    for name in names:
        things = chosen.choice(["", "a", "a", "ab", "ab"])
        lines = [f"require({drawn(CONDITIONS, DOUBTFUL, things)})" for _ in range(chosen.randrange(3))]
        lines += [drawn(EFFECTS, DARING, things) for _ in range(1 + chosen.randrange(2))]
        given = "".join(f", {thing}: int" for thing in things)
        taken = ", ".join(f"{thing}=Thing" for thing in things)
        head = f"@action({taken})\ndef {name}(s: State, c: C{given}) -> None:"
        parts.append("\n    ".join([head, '"It acts."', *lines]))
    parts.append(TAKES + drawn(EFFECTS, DARING, "t"))
    parts.append(NEVER + drawn(CONDITIONS, DOUBTFUL, "") + " or s.k < 3")
    parts.append(EACH + drawn(CONDITIONS, DOUBTFUL, "t") + " or s.k < 2")
    parts.append(GROWS + chosen.choice(["s.k = 0", "s.order[0] = NONE", "s.all = 0"]))
    more = ", normalize=normalize" if chosen.randrange(3) == 0 else ""
    parts.append(MACHINE.format(names=", ".join(names), more=more))
    return "\n\n\n".join(parts) + "\n"


MOST = 60  # states that are permuted and expanded one by one
DEPTH = 5  # levels that searches go through


def look_at(machine: Machine, properties: tuple[Property, ...], things: int, *, native: bool) -> str:
    """Return `refused: ` and why, or how a machine without symmetry differs from it; else an empty string."""
    constants = machine.set_constants({"n": things})
    try:
        require_interchangeable(translate(machine, properties), constants)
    except ModelError as error:
        return f"refused: {str(error).partition('distinguished: ')[2].partition('.')[0]}"
    differs, _ = distinguished(machine, properties, constants, MOST)
    return differs or compared(machine, properties, constants, native=native)


def compared(machine: Machine, properties: tuple[Property, ...], constants: Constants, *, native: bool) -> str:
    """Return how searches with and without symmetry differ: in verdicts, shortest lengths or canonical states."""
    symmetry = Symmetry(machine, constants)
    full, canonical = (
        plain.PlainSearch(machine, constants, properties, Options(max_depth=DEPTH, symmetry=it)) for it in (False, True)
    )
    try:
        results = [made.run() for made in (full, canonical)]
    except DomainError:
        return ""
    whole = {symmetry.canonical(key) for key in full.parents}
    if whole != set(canonical.parents):
        return f"{len(whole)} canonical states, and {len(canonical.parents)} with symmetry"
    one, other = map(said, results)
    sooner = results[1].complete and not results[0].complete  # if initial states are not alike, by fewer levels
    if one != other and not (sooner and [item[2] for item in one] == [item[2] for item in other]):
        return f"{one} is {other} with symmetry"
    if native:
        options = Options(max_depth=DEPTH, symmetry=True, workers=1, cross_check=40)
        found = search.search(machine, constants, properties, options)
        if (said(found), found.distinct) != (other, len(canonical.parents)):
            return f"{other} is {said(found)} in the native engine, of {found.distinct} and {len(canonical.parents)}"
    return ""


def said(result: Result) -> list[Any]:
    """Return each verdict with the length of its history."""
    return [(item.name, item.verdict, item.path and item.path.length) for item in result.properties]
