"""`fencepost advise`: what the settings of a topic mean for its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.files import write_text
from fencepost.api.topics.advice_words import (
    UNCHANGED,
    broken_by,
    change_of,
    groups,
    headline,
    lines_of,
    released_of,
)
from fencepost.api.topics.advising import notes
from fencepost.cli.commands.options import Count, Writable, command, verbose_option
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.topics.advising import AdviceResult
    from rich.console import Console

ON_OFF = click.Choice(["on", "off"])


@command()
@click.option("--replicas", type=Count(1), help="Replication factor.  [default: 3]")
@click.option("--min-isr", type=Count(1), help="min.insync.replicas.  [default: 1]")
@click.option(
    "--kafka", default="", metavar="VERSION", help="The release, such as 4.1.  [default: the newest that was read]"
)
@click.option(
    "--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True, help="What producers wait for."
)
@click.option("--elr", type=ON_OFF, help="Eligible leader replicas.  [default: as in new clusters of the release]")
@click.option("--unclean-election", type=ON_OFF, help="unclean.leader.election.enable.  [default: off]")
@click.option(
    "--bootstrap-server", metavar="HOST:PORT", help="Read replicas, min ISR and unclean elections from this cluster."
)
@click.option("--topic", metavar="NAME", help="The topic whose settings are read.")
@click.option("--client-config", metavar="FILE", help="Settings of the client that reads them: NAME=VALUE lines.")
@click.option("--trace", type=Writable(), help="Write the shortest history that loses a record there.")
@verbose_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def advise(as_json: bool, trace: Path | None, verbose: int, **given: Any) -> Exit:
    """Say what settings mean for records: the fewest crashes that lose one, findings that apply, and what to change.

    The answer is looked up in measured tables; nothing is searched. It says which settings were not searched.

    Exit status: 0 the table has an answer, 2 bad input, 3 these settings were not searched, or a search did not end.
    """
    from fencepost.api.topics.advising import advise as advised

    read = _read(given)
    made = advised(
        given["replicas"] or 3,
        given["min_isr"] or 1,
        kafka=given["kafka"],
        acks=given["acks"],
        elr=None if given["elr"] is None else given["elr"] == "on",
        unclean_election=given["unclean_election"] == "on",
    )
    data = made.to_dict()
    if trace:
        _write(trace, data)
    if as_json:
        print_json({**data, "read_from": read})
    else:
        print_advice(results(narrow=not verbose), made, read, verbose=bool(verbose))
    return Exit.AS_EXPECTED if made.decided else Exit.UNDETERMINED


def _read(given: dict[str, Any]) -> dict[str, str] | None:
    """Replace options by the settings that a topic has, and return where they are read; None if no cluster is named."""
    server, topic = given["bootstrap_server"], given["topic"]
    if server is None and topic is None and given["client_config"] is None:
        return None
    if server is None or topic is None:
        raise UsageError(
            "one of --bootstrap-server and --topic was given alone: "
            "to read settings from a cluster, write both; else neither."
        )
    own = [name for name in ("replicas", "min_isr", "unclean_election") if given[name] is not None]
    if own:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in own)
        raise UsageError(
            f"{options} {'was' if len(own) == 1 else 'were'} given with --bootstrap-server, which reads that from the "
            "cluster: leave one of them out."
        )
    from fencepost.api.topics.topic_settings import client_settings, settings_of_topic

    more = client_settings(Path(given["client_config"])) if given["client_config"] else {}
    found = settings_of_topic(server, topic, more)
    given["replicas"], given["min_isr"] = found.replicas, found.min_isr
    given["unclean_election"] = "on" if found.unclean_election else "off"
    return {"bootstrap_server": server, "topic": topic}


def _write(file: Path, data: Any) -> None:
    from fencepost.api.topics.matrices import history_of_faults

    crashes = data["crashes"]
    if crashes is None or not crashes["front"]:
        raise UsageError(
            "--trace was given, and no history that loses a record is known at these settings: leave it out."
        )
    made = history_of_faults({"protocol": "replication", "property": crashes["property"]}, crashes, crashes["front"][0])
    write_text(file, made.text)


def print_advice(
    console: Console, made: AdviceResult, read: dict[str, str] | None = None, *, verbose: bool = True
) -> None:
    """Print what crashes do, which findings apply, and what to change; with `verbose` in full."""
    data = made.to_dict()
    crashes, of_kind = data["crashes"], groups(data)
    print_lines(console, *headline(data), style="bold" if made.decided else "bold yellow")
    if read:
        where = f"Topic {read['topic']} of {read['bootstrap_server']}; release, acks and ELR are not read from there."
        print_lines(console, where, style="dim")
    if verbose and crashes is not None:
        for item, steps in zip(crashes["front"], crashes["told"], strict=True):
            print_lines(console, f"{broken_by(item)}:", indent=2)
            print_lines(console, *(f"{number}. {step}" for number, step in enumerate(steps, 1)), indent=4)
        print_lines(console, "`--trace FILE` writes it, and `fencepost explore FILE` opens it.", style="dim")
    if verbose:
        print_lines(console, released_of(data))
    kept = [note for note in notes(made.settings, data) if verbose or "was not read" in note or "was edited" in note]
    print_lines(console, *kept, style="dim")
    console.print()
    print_lines(console, heading(f"Findings with {made.settings.text}"))
    for title, items in of_kind if verbose else ():
        print_lines(console, f"{title}:", style="bold", indent=2)
        for found in items:
            print_lines(console, heading(found["id"]), indent=2)
            print_lines(console, *lines_of(found, data), indent=4)
    if not verbose:
        names = [", ".join(item["id"] for item in items) for _, items in of_kind]
        titles = [title.removeprefix("Findings that ") for title, _ in of_kind]
        print_rows(console, list(zip(names, titles, strict=True)), indent=2)
    console.print()
    print_lines(console, heading("What to change"))
    rows = [change_of(item) for item in data["changes"]]
    print_rows(console, rows or [("-", UNCHANGED)], indent=2)
    if not verbose:
        hint = "`-v` shows each finding, the shortest loss by crashes, and what was searched."
        print_lines(console, "", hint, style="dim")
