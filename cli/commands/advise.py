"""`fencepost advise`: how a topic's settings affect the safety of its records."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import Choice, option
from fencepost.api.answers.as_json import Json
from fencepost.api.files import write_text
from fencepost.api.topics import advice_words
from fencepost.api.topics.advising import AdviceResult, about, may_have_elr, notes
from fencepost.api.topics.advising import advise as advised
from fencepost.api.topics.operations import HARMFUL
from fencepost.cli.commands import options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.cli.views.screen import print_answer
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.topics.topic_settings import TopicSettings
    from rich.console import Console
    from rich.text import Text

STYLES = {**dict.fromkeys(HARMFUL, "red"), "lost": "bold red", "safe": "green"}
SEEN, GROUPS, NAMES = 1, 11, 3
"""Limits without `-v`: observations per operation, groups of topics, and topics named per group."""
ON_OFF = Choice(["on", "off"])


@options.command()
@option("--replicas", type=options.Count(1), help="Replication factor.  [default: 3]")
@option("--min-isr", type=options.Count(1), help="min.insync.replicas.  [default: 1]")
@option(
    "--kafka",
    default="",
    metavar="VERSION",
    help="The Kafka release, such as 4.1.  [default: the newest release that Fencepost supports]",
)
@option("--acks", type=Choice(["all", "1", "0"]), default="all", show_default=True, help="The producers' acks setting.")
@option("--elr", type=ON_OFF, help="Eligible leader replicas.  [default: as in a new cluster of the release]")
@option("--unclean-election", type=ON_OFF, help="unclean.leader.election.enable.  [default: off]")
@option("--operation", default="", metavar="NAME", help="Answer for this operation only, such as restart.")
@option("--brokers", type=options.Count(1), help="Number of brokers in the cluster.  [default: any number]")
@option(
    "--bootstrap-server", metavar="HOST:PORT", help="Read replicas, min ISR and unclean elections from this cluster."
)
@option("--topic", metavar="NAME", help="Read the settings of this topic.  [default: every topic]")
@option("--topics", metavar="FILE", help="Read topics from this file, one per line: NAME REPLICAS MIN_ISR.")
@option("--client-config", metavar="FILE", help="File with client settings for the cluster, one NAME=VALUE per line.")
@option("--trace", type=options.Writable(), help="Write the shortest history that loses a record to this file.")
@options.verbose_option
@option("--json", "as_json", is_flag=True, help="Print JSON.")
def advise(as_json: bool, trace: Path | None, verbose: int, **given: Any) -> Exit:
    """Explain how a topic's settings affect its records: how few crashes suffice to lose a record, which findings
    apply, and which changes to consider.

    The answer is read from measured tables; no search is run. Settings that were not measured are reported as such.

    Exit status: 0 if the table has an answer, 2 for bad input, 3 if nothing was measured or a search did not finish.
    """
    operation = given["operation"]
    topics, read = _read(given)
    groups: dict[TopicSettings, list[str]] = {}
    for name, found in topics.items():
        groups.setdefault(found, []).append(name)
    asked = {
        "kafka": given["kafka"],
        "acks": given["acks"],
        "elr": None if given["elr"] is None else given["elr"] == "on",
    }
    made = [(names, advised(**found._asdict(), **asked)) for found, names in groups.items()]
    decided = all(item.decided for _, item in made)
    if trace:
        _write(trace, made[0][1].to_dict())
    if as_json and given["topic"] is None and read:
        print_json({"read_from": read, "topics": [{"names": names, **_data(item, operation)} for names, item in made]})
    elif as_json:
        print_json({**_data(made[0][1], operation), "read_from": read})
    else:
        console = results(narrow=not verbose)
        if len(made) > 1 and not verbose:
            print_groups(console, [(names, _data(item, operation)) for names, item in made])
            made = []
        for number, (names, item) in enumerate(made):
            if number:
                console.print()
            if len(groups) > 1 or (read and given["topic"] is None):
                print_lines(console, heading(", ".join(names)))
            if operation:
                print_operation(console, _data(item, operation), verbose=bool(verbose))
            else:
                print_advice(console, item, read, verbose=bool(verbose))
    return Exit.AS_EXPECTED if decided else Exit.UNDETERMINED


def _read(given: dict[str, Any]) -> tuple[dict[str, TopicSettings], dict[str, str | None] | None]:
    from fencepost.api.topics.topic_settings import TopicSettings, client_settings, settings_in, settings_of_topics

    server, topic, file = given["bootstrap_server"], given["topic"], given["topics"]
    if server is None and (topic is not None or given["client_config"] is not None):
        raise UsageError("--topic and --client-config need a cluster: add --bootstrap-server.")
    if server is None and file is None:
        unclean = given["unclean_election"] == "on"
        found = TopicSettings(given["replicas"] or 3, given["min_isr"] or 1, unclean, given["brokers"])
        return dict.fromkeys(("this topic",), found), None
    where = "--bootstrap-server" if server else "--topics"
    own = [name for name in ("replicas", "min_isr", "unclean_election") if given[name] is not None]
    own += [name for name in ("topics", "brokers") if server and given[name]]
    if own:
        wrong = " and ".join(f"--{name.replace('_', '-')}" for name in own)
        raise UsageError(
            f"{wrong} cannot be combined with {where}, which reads the same setting: leave one of them out."
        )
    if file:
        listed = settings_in(Path(file))
        return {name: item._replace(brokers=given["brokers"]) for name, item in listed.items()}, {"file": file}
    more = client_settings(Path(given["client_config"])) if given["client_config"] else {}
    return settings_of_topics(server, topic, more), {"bootstrap_server": server, "topic": topic}


def _write(file: Path, data: Any) -> None:
    from fencepost.api.topics.matrices import history_of_faults

    crashes = data["crashes"]
    if crashes is None or not crashes["front"]:
        raise UsageError(
            "--trace was given, but no history that loses a record is known for these settings: leave out --trace."
        )
    made = history_of_faults({"protocol": "replication", "property": crashes["property"]}, crashes, crashes["front"][0])
    write_text(file, made.text)


def _data(made: AdviceResult, operation: str) -> Json:
    return about(made.to_dict(), operation) if operation else made.to_dict()


def print_groups(console: Console, groups: list[tuple[list[str], Json]]) -> None:
    """Print one sentence for each group of topics with equal settings, the groups at the highest risk first."""

    def harmed(data: Json) -> int:
        return sum(item["outcome"] == "lost" for item in data["operations"]) or len(data["operations"])

    groups = sorted(groups, key=lambda group: harmed(group[1]), reverse=True)
    for names, data in groups[:GROUPS]:
        rows = data["operations"]
        print_lines(console, advice_words.answer_of(data, rows[0]) if len(rows) == 1 else advice_words.headline(data))
        more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
        print_lines(console, f"{', '.join(names[:NAMES])}{more}", indent=2, style="bold")
    more = f", and {len(groups) - GROUPS} more groups of topics" if len(groups) > GROUPS else ""
    print_lines(console, f"`-v` shows every operation{more}.", style="dim")


def print_operation(console: Console, data: Json, *, verbose: bool) -> None:
    (item,) = data["operations"]
    print_lines(console, advice_words.answer_of(data, item), style="bold")
    print_answer(console, advice_words.facts_of(item, sys.maxsize if verbose else SEEN), hint="")


def print_advice(
    console: Console, made: AdviceResult, read: Mapping[str, str | None] | None = None, *, verbose: bool = True
) -> None:
    data = made.to_dict()
    rows: list[tuple[Text | str, ...]] = []
    print_lines(console, advice_words.headline(data), style="bold")
    for item in data["operations"]:
        title, fact, instead = advice_words.row_of(item)
        rows.append((title, styled(fact, STYLES.get(item["outcome"], "yellow")), instead))
    print_rows(console, rows)
    if not verbose:
        print_lines(console, *(note for note in notes(made.settings, data) if "was edited" in note), style="dim")
        elr = f"ELR is assumed to be {'on' if made.settings.elr else 'off'}. " if "elr" in data["assumed"] else ""
        elr *= may_have_elr(made.settings.version)
        print_lines(
            console,
            f"{elr}`fencepost audit` finds lost records. `--operation restart` shows one operation.",
            style="dim",
        )
        return
    for item in data["operations"]:
        print_lines(console, "", heading(f"{item['title']}: {advice_words.SAID[item['outcome']]}"))
        print_lines(console, *advice_words.lines_of(item), *advice_words.proofs_of(item), indent=2)
    print_lines(console, "", heading("Crashes that lose logs"))
    if read:
        print_lines(console, "The release, acks and ELR are not read from the cluster.", style="dim")
    crashes = data["crashes"]
    if crashes is None:
        print_lines(console, f"Not measured: {data['why']}. Settings that were not measured may be unsafe.")
    else:
        print_lines(console, f"An acknowledged record, with crashes alone: {crashes['outcome']}.")
        for lost, steps in zip(crashes["front"], crashes["told"], strict=True):
            print_lines(console, f"{advice_words.broken_by(lost)}:", indent=2)
            print_lines(console, *(f"{number}. {step}" for number, step in enumerate(steps, 1)), indent=4)
        hint = "`--trace FILE` writes the shortest history, and `fencepost explore FILE` opens it."
        print_lines(console, hint, style="dim")
    print_lines(console, advice_words.released_of(data))
    print_lines(console, *notes(made.settings, data), style="dim")
    print_rows(
        console, [advice_words.change_of(item) for item in data["changes"]] or [("-", advice_words.UNCHANGED)], indent=2
    )
