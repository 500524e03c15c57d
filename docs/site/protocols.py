"""A protocol's pages, with its actions and their guards, its properties, constants and versions, and its runs."""

from collections.abc import Iterator
from html import escape
from typing import Any

from fencepost.api.asking.quantities import counted
from fencepost.api.calls.listing import protocol_data
from fencepost.api.topics.matrices import Found, best_of, measured
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.removal import Guard, guards
from fencepost.invariants.catalogue import Run, runs_of
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language.machine import Machine
from fencepost.site import places
from fencepost.site.checks import without_it
from fencepost.site.places import number, row, table


def pages() -> dict[str, Iterator[str]]:
    made = {places.of_protocol(name): page(found) for name, found in PROTOCOLS.items()}
    runs = {f"runs/{name}.md": runs_page(name) for name in PROTOCOLS if runs_of(name)}
    return {"protocols/index.md": _index(), **made, **runs}


def _index() -> Iterator[str]:
    rows = (
        [
            f"[{name}]({name}.md)",
            found.machine.sentence,
            str(len(found.machine.actions)),
            str(sum(not guard.part for guard in guards(found.machine))),
            str(len(found.every_property)),
            f"[{len(runs_of(name))}](../runs/{name}.md)" if runs_of(name) else "",
        ]
        for name, found in PROTOCOLS.items()
    )
    head = ("protocol", "what it models", "actions", "guards", "properties", "runs")
    yield from ("# Protocols", "", *table(head, rows), "")


def page(found: Protocol) -> Iterator[str]:
    data, place = protocol_data(found), places.of_protocol(found.name)
    machine = found.machine
    yield "---\nsearch:\n  boost: 2\n---\n"  # a search for an action's name finds its protocol first
    yield from (f"# {found.name}", "", f"{machine.sentence[0].upper()}{machine.sentence[1:]}.", "")
    yield f"{places.linked('Explore it', f'{places.EXPLORER}#{found.name}', place)}{{ .md-button }}"
    runs = counted(len(runs_of(found.name)), "run")
    links = [f"[{runs} of the catalogue](../runs/{found.name}.md)"] if runs_of(found.name) else []
    links += [f"[why every check is there](../checks/{found.name}.md)"] if found.name in measured() else []
    yield from ("", ", ".join(links), "", f"Read from: {machine.source}." if machine.source else "", "")
    yield from ("## Actions", "")
    best = best_of(measured()[found.name]) if found.name in measured() else {}
    for item, about in zip(machine.actions, data["actions"], strict=True):
        yield from (f"### {item.label}", "", f"{item.sentence}", "")
        if about["parameters"]:
            yield from (f"Parameters: {', '.join(f'`{name}`' for name in about['parameters'])}.", "")
        yield from _guards(machine, [guard for guard in guards(machine) if guard.action == item.label], best, place)
    yield from _properties(found, data, place)
    yield from _constants(data, place)


def _guards(machine: Machine, found: list[Guard], best: dict[str, Found], place: str) -> Iterator[str]:
    if not found:
        yield from ("This action has no guard.", "")
        return
    yield row(("guard", "condition", *(("purpose", "violated without it") if best else ())))
    yield row(("---",) * (4 if best else 2))
    for guard in found:
        asks = f"`{guard.condition}`" + (f": {guard.sentence}" if guard.sentence else "")
        name = places.mark(places.of_guard(machine.name, guard.name)) + guard.name.rpartition(" ")[2]
        yield row((name, asks, *(_purpose(machine, guard, best.get(guard.name), place) if best else ())))
    yield ""


def _purpose(machine: Machine, guard: Guard, known: Found | None, place: str) -> tuple[str, str]:
    if known is None:
        return "", ""
    data, base = known
    steps: list[str] = data.get("steps", [])
    shown = without_it(known)
    if not steps:
        return data["purpose"], shown
    there = places.relative(places.in_explorer(machine, base["constants"], steps, (guard.name,)), place)
    return f"**{data['purpose']}**", f"{shown} ([explore]({there}))"


def _properties(found: Protocol, data: dict[str, Any], place: str) -> Iterator[str]:
    yield from ("## Properties", "")
    rows = (
        [
            places.mark(places.of_property(found.name, item["name"])) + item["name"],
            item["kind"],
            " ".join(item["sentence"].split()),
            places.links_to_entries(places.entries_by_property().get((found.name, item["name"]), ()), place),
        ]
        for item in data["properties"]
    )
    yield from (*table(("property", "kind", "statement", "decides"), rows), "")


def _constants(data: dict[str, Any], place: str) -> Iterator[str]:
    yield from ("## Constants", "")
    rows = (
        [
            f"{places.mark(places.of_constant(data['name'], item['name']))}`{item['name']}`",
            escape(item["meaning"], quote=False),
            f"`{str(item['default']).lower()}`",
            ", ".join(str(value).lower() for value in item["values"])
            if "values" in item
            else f"{item['low']} to {item['high']}",
        ]
        for item in data["constants"]
    )
    yield from (*table(("constant", "meaning", "default", "values"), rows), "")
    opened = places.relative(f"{places.EXPLORER}#{data['name']}", place)
    versions = [
        [
            f'<a id="version-{item["name"]}"></a>[{item["name"]}]({opened}?version={item["name"]})',
            item["sentence"],
            " ".join(f"`{name}={str(value).lower()}`" for name, value in item["constants"].items()),
        ]
        for item in data["versions"]
    ]
    if versions:
        yield from ("## Versions", "", *table(("version", "stands for", "constants"), versions), "")


INTRODUCTION = (
    "Each run searches all reachable states for the given constants. All other constants have their declared values. "
    "The number of states, the depth and the length of each shortest trace (in states) are pinned: `fencepost check "
    "--profile ci` fails if one of them differs. All properties that are not listed as violated hold in the run."
)


def runs_page(name: str) -> Iterator[str]:
    place = f"runs/{name}.md"
    protocol = places.linked("The protocol", places.of_protocol(name), place)
    yield from (f"# Runs of {name}", "", f"{protocol}. {INTRODUCTION}", "")
    head = ("run", "constants", "states", "depth", "violated", "evidence for")
    yield from (*table(head, (_row(run, place) for run in runs_of(name))), "")


def _row(run: Run, place: str) -> list[str]:
    machine = PROTOCOLS[run.protocol].machine
    declared = machine.constants.declared()
    given = {name: str(declared[name].show(value)).lower() for name, value in run.constants.items()}
    values = machine.version(run.version).values if run.version else {}
    shown = " ".join(f"`{name}={value}`" for name, value in given.items())
    everything = {name: declared[name].show(value) for name, value in {**values, **run.constants}.items()}
    there = places.linked(run.short_name.replace("|", "/"), places.in_explorer(machine, everything, ()), place)
    return [
        places.mark(places.of_run(run)) + there,
        shown,
        number(run.distinct),
        number(run.depth),
        ", ".join(_violation(run, prop, length, place) for prop, length in run.violated.items()) or "nothing",
        places.links_to_entries(places.entries_by_run().get(run.name, ()), place) or run.serves,
    ]


def _violation(run: Run, prop: str, length: int, place: str) -> str:
    file = run.traces[prop]
    shown = f"{places.linked(prop, places.of_property(run.protocol, prop), place)} {length}"
    trace = places.linked("trace", places.of_trace(file), place)
    return f"{shown} ({trace})" if (ARCHIVE / file).is_file() else shown
