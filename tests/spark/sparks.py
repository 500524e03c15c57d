"""Marks of all tests that start Spark: the files of a group share a process, and two groups run side by side."""

import pytest


def marks(group: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a file whose tests run with others of this group."""
    return [
        pytest.mark.xdist_group(group),
        pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that PySpark leaves to the garbage collector
        pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    ]
