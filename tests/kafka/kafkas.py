"""Helpers for tests on Kafka's classes: whether they can run here, and a release to run them on."""

import os
import shutil
from typing import Any

import pytest
from fencepost.kafka.driver.releases import java_version, tool
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import data_of, fencepost


def _missing_tools() -> str:
    """Return a sentence on the tools for running Kafka's classes by Maven that are missing, or an empty string."""
    try:
        java_version()
        tool("javac")
    except UsageError as error:
        return str(error)
    return "" if shutil.which("mvn") else "Maven (`mvn`) was not found, which brings Kafka's jars."


KAFKA = "4.1.2"
LACKING = _missing_tools()
IN_CI = bool(os.environ.get("CI"))
"""In CI a test on Kafka's classes that cannot run fails instead of being skipped."""

on_kafka = pytest.mark.skipif(bool(LACKING) and not IN_CI, reason=f"Kafka's classes cannot run here: {LACKING}")


def conformed(*args: str) -> dict[str, Any]:
    """Compare a protocol with Kafka, and return the data of a comparison without a difference."""
    made = fencepost("conform", *args, "--json")
    found = data_of(made)
    assert made.exit_code == 0, found["changes" if "--changes" in args else "differences"]
    return found
