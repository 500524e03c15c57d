"""`fencepost advise`: what the settings of a topic mean for its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from fencepost.api.files import write_text
from fencepost.cli.commands.options import Writable
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.model.language.errors import UsageError

ON_OFF = click.Choice(["on", "off"])


@click.command()
@click.option("--replicas", type=click.IntRange(1), metavar="N", help="Replication factor.  [default: 3]")
@click.option("--min-isr", type=click.IntRange(1), metavar="N", help="min.insync.replicas.  [default: 1]")
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
@click.option("--trace", type=Writable(), metavar="FILE", help="Write the shortest history that loses a record there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def advise(as_json: bool, trace: Path | None, **given: Any) -> Exit:  # noqa: FBT001 (as click calls it)
    """Say what settings mean for records: the fewest crashes that lose one, the findings that apply, and what to change.

    The answer is looked up in measured tables; nothing is searched. What nobody has searched is said to be so.

    \b
    Exit status: 0 the table has an answer, 2 bad input, 3 these settings were not searched, or a search did not end.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.api.topics.advising import advise as advised
    from fencepost.cli.views.advice import print_advice

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
        print_advice(results(), made, read)
    return Exit.AS_EXPECTED if made.decided else Exit.UNDETERMINED


def _read(given: dict[str, Any]) -> dict[str, str] | None:
    """Put what a cluster says of a topic in the place of the options, and return where that was; None if no cluster is asked."""
    server, topic = given["bootstrap_server"], given["topic"]
    if server is None and topic is None and given["client_config"] is None:
        return None
    if server is None or topic is None:
        raise UsageError(
            "one of --bootstrap-server and --topic was given alone: to read settings from a cluster, write both; else neither."
        )
    own = [name for name in ("replicas", "min_isr", "unclean_election") if given[name] is not None]
    if own:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in own)
        raise UsageError(
            f"{options} was given with --bootstrap-server, which reads it from the cluster: leave one of them out."
        )
    from fencepost.api.topics.topic_settings import client_settings, settings_of_topic

    more = client_settings(Path(given["client_config"])) if given["client_config"] else {}
    found = settings_of_topic(server, topic, more)
    given["replicas"], given["min_isr"] = found.replicas, found.min_isr
    given["unclean_election"] = "on" if found.unclean_election else "off"
    return {"bootstrap_server": server, "topic": topic}


def _write(file: Path, data: Any) -> None:
    """Write the shortest history of the table's cell as a trace."""
    from fencepost.api.topics.matrices import history_of_faults

    crashes = data["crashes"]
    if crashes is None or not crashes["front"]:
        raise UsageError(
            "--trace was given, and no history that loses a record is known at these settings: leave it out."
        )
    made = history_of_faults({"protocol": "replication", "property": crashes["property"]}, crashes, crashes["front"][0])
    write_text(file, made.text)
