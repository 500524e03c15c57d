"""`fencepost compare`: shows the differences between two models or two builds of Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click import argument, option
from fencepost.api.asking.quantities import counted, listed
from fencepost.api.calls.compare import MOST_PAIRS, WORDS, common_machine
from fencepost.api.calls.compare import compare as compared
from fencepost.api.files import write_text
from fencepost.cli.commands import options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import called, heading, joined, print_hanging, print_lines, print_rows, show, styled
from fencepost.cli.views.screen import print_answer, print_steps, some
from fencepost.counterexamples.folding import fold
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.calls.compare import ActionsDiffer, CompareResult, Comparison, OnlyOneSide, Side, TwoVerdicts
    from fencepost.api.calls.conform import BuildsResult
    from rich.console import Console


@options.command()
@argument("a", metavar="[A]", default="")
@argument("b", metavar="[B]", default="")
@option("--kafka", multiple=True, metavar="VERSION", help="Compare this release of Kafka (repeatable).")
@option("--jars", multiple=True, metavar="DIR", help="Compare the jars in this folder (repeatable).")
@option("--draws", type=options.Count(0), default=0, show_default=True, help="Also run N random histories.")
@option("--seed", type=options.Count(0), default=1, show_default=True, help="The seed of the random histories.")
@option("--budget", type=options.TIME, metavar="TIME", help="Stop executing histories after this much time, e.g. 10m.")
@option("--output", metavar="DIR", help="If a history shows a difference, write it to this folder as a trace.")
@option("--sarif", type=options.Writable(), help="Write how the builds differ to this file, for code scanning.")
@options.constants_options
@option(
    "--on", "paths", multiple=True, metavar="FIELD", help="Compare only this field of the state, such as replica.log."
)
@option("--max-pairs", type=options.Count(1), default=MOST_PAIRS, help="Stop after comparing N pairs of state sets.")
@options.workers_option()
@option("--max-states", type=options.Count(1), help="Stop when one side has more than N states.")
@option("--memory", type=options.SIZE, help="Stop before the states of one side need more memory than this, e.g. 4G.")
@options.normalize_option
@options.verbose_option
@options.output_options
def compare(a: str, b: str, paths: tuple[str, ...], **given: Any) -> Exit:
    """Compare two models, or the behaviour of the classes of two builds of Apache Kafka.

    A and B are single arguments, such as "kip320 elr=on" and kip279. An argument names a protocol, a Python file or one
    of its machines (FILE.py:NAME), a version, and settings NAME=VALUE, separated by spaces. A side that names no
    protocol uses the other side's, as in fencepost compare replication kafka-4.0. Without B, a variant is compared with
    its base. --set, --version, --with and --without apply to both sides, unless A or B overrides them. Both models must
    have the same state fields.

    The comparison covers the guarantees, all fields that the protocols store (except budgets and ghosts), and
    everything that clients can observe. With --on, only the named fields are compared.

    If --kafka and --jars are given twice in total, two builds are compared, such as a release and your pull request:
    fencepost compare --kafka 4.1.2 --jars DIR. The class files show which methods differ. Every history that executes a
    changed method is run on both builds; --draws adds random histories. The first history that shows a difference is
    shortened. Changed methods that no history executes are listed.

    Exit status: 0 if there is no difference, 1 if there is one, 2 for bad input (or if Java, Maven or the release is
    missing), 3 if undetermined, or if a changed method was never executed although histories execute its class.
    """
    if given["kafka"] or given["jars"]:
        return _compare_builds(a, given)
    if given["sarif"]:
        raise UsageError("--sarif applies to two builds: add --kafka or --jars, twice in total.")
    if not a:
        raise UsageError("there is nothing to compare: name two models, or two builds with --kafka and --jars.")
    constants = options.parse_constants(common_machine(a, b), given["settings"], given["with_"], given["without"])
    names, version = "workers memory max_pairs max_states normalize", given["version"] or ""
    made = called(given, compared, names, a, b or None, constants=constants, version=version, on=paths)
    show(given, made, print_compared, quiet=given["quiet"])
    return {True: Exit.AS_EXPECTED, False: Exit.FAILED, None: Exit.UNDETERMINED}[made.same]


STYLES = {True: "bold green", False: "bold red", None: "bold yellow"}
BUILDS = {
    "same": ("no difference was found.", "bold green", Exit.AS_EXPECTED),
    "differs": ("they differ.", "bold red", Exit.FAILED),
    "not-exercised": ("no difference was found, but not every change was executed.", "bold yellow", Exit.UNDETERMINED),
}


def _compare_builds(a: str, given: dict[str, Any]) -> Exit:
    from fencepost.api.calls.conform import compare_builds

    if a:
        raise UsageError(f"{a!r} cannot be combined with --kafka or --jars: compare two models, or two builds.")
    made = called(given, compare_builds, "kafka jars draws seed budget output")
    if given["sarif"]:
        from fencepost.cli.builds.sarif import compare_sarif

        write_text(given["sarif"], compare_sarif(made.to_dict()))
    show(given, made, _print_builds)
    return BUILDS[made.verdict][2]


def _print_builds(console: Console, made: BuildsResult, **_more: object) -> None:
    words, style, _ = BUILDS[made.verdict]
    print_lines(console, f"{made.title}: {words}", style=style)
    for line in made.report.summary():
        print_hanging(console, " " * (len(line) - len(line.lstrip()) + 2), line.lstrip())


def headline(data: CompareResult) -> str:
    titles = [item.title for item in data.compared]
    if data.same is None:
        return "Undetermined: no difference was found, but not everything could be compared."
    if data.same:
        other = f"; traces of {some([it.name for it in data.lengths])} differ in length" if data.lengths else ""
        places = listed([f"in {name}" for name in ("their guarantees", *titles)])
        return f"No difference between A and B {places}{other}."
    differ = sum(bool(item.a and item.b) for item in data.guarantees)
    words = [f"{counted(differ, 'guarantee')} differ{'s' * (differ == 1)}"] if differ else []
    for side, names in (
        ("A", [item.name for item in data.guarantees if not item.b]),
        ("B", [item.name for item in data.guarantees if not item.a]),
    ):
        words += [f"only {side} has {some(names)}"] if names else []
    if any(item.state or item.behaviour for item in data.compared):
        item, only = _gravest(data)
        what = f"a behaviour of {counted(only.length, 'state')}"
        what = what if only is item.behaviour else f"a state after {counted(only.length - 1, 'step')}"
        words.append(f"in {item.title}, only {only.side.upper()} has {what}")
    same = [item.title for item in data.compared if item.same]
    also = f" No difference in {' and '.join(same)}." if same else ""
    return f"Different: {'; '.join(words)}.{also}"


def _gravest(data: CompareResult) -> tuple[Comparison, OnlyOneSide]:
    found = [(item, only) for item in data.compared for only in (item.state, item.behaviour) if only is not None]
    return found[-1]


def print_compared(console: Console, data: CompareResult, *, verbose: bool = True, quiet: bool = False) -> None:
    a, b = data.a, data.b
    style = STYLES[data.same]
    print_lines(console, headline(data), style=style)
    for why in data.untouched:
        print_lines(console, why, style="yellow", indent=2)
    growth = b.distinct / a.distinct if a.distinct else 0
    facts = [
        ("A", f"{_named(a)}: {a.distinct:,} states, depth {a.depth}"),
        ("B", f"{_named(b)}: {b.distinct:,} states, depth {b.depth}; {growth:.2f} times as many states as A"),
    ]
    facts += [(c.name, f"{str(c.a).lower()} in A, {str(c.b).lower()} in B") for c in data.constants]
    facts += [
        (g.name, f"{_shown(g, g.a, g.states_a, g.worst_a)} in A, {_shown(g, g.b, g.states_b, g.worst_b)} in B")
        for g in (*data.guarantees, *data.lengths)
    ]
    if not verbose:
        changed = [item.action for item in data.actions.changed]
        facts += [("guards of", some(changed))] if changed else []
        found = [f"{item.title}: {WORDS[item.same]}{item.why and f' ({item.why})'}" for item in data.compared]
        facts.append(("compared", "; ".join(found)))
    hint = "" if verbose or quiet else "fields, guards, and every difference"
    print_answer(console, facts, hint=hint)
    if verbose:
        _print_actions(console, data.actions)
        for item in data.compared:
            console.print()
            _print_one_way(console, item)
    elif any(item.state or item.behaviour for item in data.compared):
        item, only = _gravest(data)
        where = f"only in {only.side.upper()}, in {item.title}"
        print_steps(console, only.steps, f"{where}: {counted(only.length, 'state')}")
        print_lines(console, only.sentence, style="dim", indent=5)
        print_lines(console, "", headline(data), style=style)


def _shown(both: TwoVerdicts, verdict: str, states: int, worst: str) -> str:
    word = "reached" if verdict == "holds" and "unreached" in (both.a, both.b) else verdict or "not there"
    if both.worst_a != both.worst_b and worst:
        return f"{word} (worst {worst})"
    return f"{word} ({counted(states, 'state')})" if states else word


def _named(side: Side) -> str:
    return str(side.protocol) if side.variant == side.protocol else f"{side.protocol}, {side.variant}"


def _print_actions(console: Console, actions: ActionsDiffer) -> None:
    for words, names in (
        ("Only in A", actions.only_a),
        ("Happens only in A", actions.fired_only_a),
        ("Only in B", actions.only_b),
        ("Happens only in B", actions.fired_only_b),
    ):
        if names:
            print_lines(console, f"{words}: {', '.join(names)}")
    for item in actions.changed:
        print_lines(console, f"{item.action}:")
        for side, conditions in (("A", item.only_a), ("B", item.only_b)):
            for condition in conditions:
                print_lines(console, f"only {side} requires {condition}", indent=2)
        if item.effect:
            print_lines(console, "its effect differs", indent=2)


def _print_one_way(console: Console, item: Comparison) -> None:
    print_lines(console, joined(heading(item.title), ": ", (WORDS[item.same], STYLES[item.same])))
    print_lines(console, ", ".join(item.looked_at), style="dim")
    seen = item.seen
    print_lines(console, f"{seen['a']:,} observations in A, {seen['b']:,} in B, {seen['both']:,} in both")
    if item.why:
        print_lines(console, f"Behaviours were not compared completely: {item.why}.", style="yellow")
    for only, words in (
        (item.state, "the first state that no state of the other side matches"),
        (item.behaviour, "the shortest behaviour that only one side has, although both have each of its states"),
    ):
        if only:
            _print_only(console, only, words)


def _print_only(console: Console, only: OnlyOneSide, words: str) -> None:
    from fencepost.counterexamples.text import ARROW

    print_lines(console, f"Only in {only.side.upper()}: {words}, {counted(only.length, 'state')}", style="bold")
    print_rows(console, [(f"{number:>3}", step) for number, step in enumerate(only.steps, 1)])
    if only.last:
        text = f"the last step: {', '.join(only.last)}".replace(" -> ", ARROW)
        for line in fold(text, console.width - 5):
            console.print(styled(f"     {line}", "dim"), soft_wrap=True)
