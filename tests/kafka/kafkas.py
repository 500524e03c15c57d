"""What tests on Kafka's classes share: whether they can run here, and a release to run them on."""

import os
from typing import Any

import pytest
from fencepost.kafka.driver.releases import missing_tools

from tests.helpers.commands import data_of, fencepost

KAFKA = "4.1.2"
LACKING = missing_tools()
IN_CI = bool(os.environ.get("CI"))
"""In CI a test on Kafka's classes that cannot run fails instead of being skipped."""

on_kafka = pytest.mark.skipif(bool(LACKING) and not IN_CI, reason=f"Kafka's classes cannot run here: {LACKING}")


def conformed(*args: str) -> dict[str, Any]:
    """Compare a protocol with Kafka, and return the data of a comparison without a difference."""
    made = fencepost("conform", *args, "--json")
    found = data_of(made)
    assert made.exit_code == 0, found["differences"]
    return found
