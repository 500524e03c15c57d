"""`fencepost audit`: checks a real cluster's metadata log against the guarantees."""

from typing import Any

from click import Choice, IntRange, argument, option
from fencepost.api.files import write_text
from fencepost.cli.commands import options
from fencepost.cli.failures import require_kept
from fencepost.cli.status import Exit
from fencepost.cli.views.console import called, print_json, results
from fencepost.kafka.audit.findings import SEVERITIES


@options.command()
@argument("paths", nargs=-1, required=True, metavar="PATH...")
@option("--output", metavar="DIR", help="Save records, histories and findings in this folder, as Parquet.")
@option("--resume", is_flag=True, help="Continue the audit in --output without rereading its records.")
@option(
    "--severity",
    type=Choice(SEVERITIES),
    default="low",
    show_default=True,
    help="Report findings of at least this severity.",
)
@option(
    "--within",
    type=options.TIME,
    default="60s",
    help="Report changes as suspicious if they happen within this time of each other.  [default: 60s]",
)
@option(
    "--min-isr", type=options.Count(1), default=1, show_default=True, help="min.insync.replicas in server.properties."
)
@option("--partition", metavar="TOPIC-NUMBER", help="Search for steps that the brokers may have taken (needs --trace).")
@option(
    "--trace", type=options.Writable(), help="Write the history of --partition to this file, as a trace of the model."
)
@option("--until", type=IntRange(0), metavar="OFFSET", help="End the history of --partition at this offset.")
@option("--kafka", metavar="VERSION", help="Decode with the classes of this release (default: the newest supported).")
@option("--jars", metavar="DIR", help="Decode with the classes from the jars in this folder.")
@options.spark_options
@option("--html", type=options.Writable(), help="Write the report to this file as an HTML page with a timeline.")
@option("--sarif", type=options.Writable(), help="Write the findings to this file, for dashboards.")
@options.verbose_option
@options.output_options
def audit(paths: tuple[str, ...], **given: Any) -> Exit:
    """Audit the metadata log of a Kafka cluster: report violated invariants, and states in which records can be lost.

    PATH is a controller's folder __cluster_metadata-0, a folder that contains such folders at any depth, or a file with
    the output of kafka-dump-log.sh --cluster-metadata-decoder, which can be read without Java. Kafka's own classes
    decode the records of a folder. By default, this process follows every partition; Spark does so with --master or for
    more than a million records. Copies of brokers' disks, or of a partition's folders on them, are also compared, to
    find which records were acknowledged, where logs diverge, and which records the leader lacks.

    Exit status: 0 if nothing was found, 1 if something was found, 2 for bad input, 3 if nothing was found but some
    parts could not be read, checked or reproduced in the model, 4 for an internal error.
    """
    from fencepost.api.calls.audit import audit as audited

    if given["html"]:
        from fencepost.cli.views.audit import look_for_plotly

        look_for_plotly()
    cluster = options.cluster_of(given["master"], given["conf"])
    names = "output resume severity within min_isr partition trace until kafka jars"
    made = called(given, audited, names, *paths, cluster=cluster)
    data = made.to_dict()
    if given["json"]:
        print_json(data)
    else:
        from fencepost.cli.views.audit import print_audit, print_screen

        print_audit(results(), data) if given["verbose"] else print_screen(results(narrow=True), data)
    if given["sarif"]:
        from fencepost.cli.builds.sarif import audit_sarif

        write_text(given["sarif"], audit_sarif(data))
    if given["html"]:
        from fencepost.cli.views.audit import page

        write_text(given["html"], page(data))
    require_kept(made.problems)
    if data["sorts"]:
        return Exit.FAILED
    lost = data["trace"] is not None and data["trace"]["next"] is not None
    return Exit.UNDETERMINED if data["warnings"] or lost else Exit.AS_EXPECTED
