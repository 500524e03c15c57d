"""What tests on Kafka's classes share: whether they can run here, and a release to run them on."""

import os

import pytest
from fencepost.kafka.driver.releases import missing_tools

KAFKA = "4.1.2"
LACKING = missing_tools()
IN_CI = bool(os.environ.get("CI"))
"""In CI a test on Kafka's classes that cannot run fails instead of being skipped."""

on_kafka = pytest.mark.skipif(bool(LACKING) and not IN_CI, reason=f"Kafka's classes cannot run here: {LACKING}")
