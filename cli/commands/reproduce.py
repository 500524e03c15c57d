"""`fencepost reproduce`: reproduces a finding on a real cluster on this machine, step by step."""

import sys
from typing import Any

from click import Choice, IntRange, argument, command, option
from fencepost.api.asking.watching import Watch
from fencepost.cli.commands.options import TIME, output_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, print_rows, results, styled
from fencepost.invariants.claim_files import HARMS

COLOURS = {"kept": "bold green", **dict.fromkeys(HARMS, "bold red"), "undetermined": "bold yellow"}


@command()
@argument("name", required=False)
@option("--kafka", metavar="VERSION", help="The Kafka release, such as 4.1.2; Maven downloads its jars.")
@option("--jars", metavar="DIR", help="Use the jars in this folder, such as those of your own build.")
@option("--control", is_flag=True, help="Omit the step that triggers the finding, and expect no records to be lost.")
@option("--repaired", is_flag=True, help="Run Kafka with the fix for the finding, and expect no records to be lost.")
@option("--repair", multiple=True, metavar="NAME", help="If the finding has several fixes, use only this fix.")
@option("--expect", type=Choice([*HARMS, "kept"]), help="Expect this verdict instead of the one known for the release.")
@option("--budget", type=TIME, metavar="TIME", help="Stop after this much time.  [default: 170s]")
@option("--port", type=IntRange(1024, 65_000), metavar="N", help="First port of the cluster.  [default: 19200]")
@option("--output", metavar="DIR", help="Keep the logs, settings and disks of all nodes in this folder, for an audit.")
@output_options
def reproduce(name: str | None, kafka: str | None, jars: str | None, **given: Any) -> Exit:
    """Reproduce the finding NAME on an Apache Kafka cluster on this machine, and report which records were lost.

    A controller and some brokers start as processes on 127.0.0.1, with their files in a temporary folder. A proxy
    delays messages if the scenario needs it, and Kafka's own tools execute the operators' commands. Finally, the
    command compares the readable records with the acknowledged ones, and names brokers that cannot restart. Without
    NAME, list the findings.

    Exit status: 0 if the verdict is as expected (a record is lost, a broker cannot restart, a partition stays without a
    leader, a replica stays out of the ISR, a partition does not get the requested replicas, or a deleted record
    reappears; with --control, with --repaired and on releases known to be safe, none of these), 1 if it is not, 2 for
    bad input (or if Java or Maven is missing, or a port is in use), 3 if the scenario did not finish in time.
    """
    from fencepost.api.calls.conform import list_findings
    from fencepost.api.calls.conform import reproduce as play

    if name is None:
        found = list_findings()
        if given["json"]:
            print_json({"findings": found})
        else:
            print_rows(results(), [(item["name"], item["title"]) for item in found])
        return Exit.AS_EXPECTED
    told = _Story(quiet=given["quiet"], to_stderr=given["json"])
    names = ("control", "repaired", "repair", "budget", "port", "output")
    made = play(name, kafka=kafka, jars=jars, progress=told, **{item: given[item] for item in names})
    expected = given["expect"] or made.expected
    if given["json"]:
        print_json({**made.to_dict(), "expected": expected})
    else:
        results().print(styled(f"{made.title}: {made.verdict}", COLOURS[made.verdict]))
        if made.verdict != expected:
            results().print(f"  expected: {expected}")
    if made.verdict == "undetermined":
        return Exit.UNDETERMINED
    return Exit.AS_EXPECTED if made.verdict == expected else Exit.FAILED


class _Story(Watch):
    def __init__(self, *, quiet: bool, to_stderr: bool) -> None:
        self.quiet, self.to_stderr = quiet, to_stderr

    def note(self, text: str) -> None:
        if not self.quiet:
            print(text, file=sys.stderr if self.to_stderr else sys.stdout, flush=True)
