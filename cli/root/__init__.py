"""Fencepost: a model checker and property tester for Kafka's replication protocol.

    import fencepost as f

    f.check("kip320", replicas=2).distinct

Every function and class of `fencepost.api` is an attribute of this package, and is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.api import *  # noqa: F403 (exactly the names of the library)


def __getattr__(name: str) -> Any:
    library = import_module("fencepost.api")
    if name not in library.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(library, name)


def first_screen(answer: Any) -> str:
    """Return the text that `print` shows for an answer: the first screen of its command, 80 columns wide."""
    text: str = import_module("fencepost.cli.printing").first_screen(answer)
    return text


def __dir__() -> list[str]:
    return sorted(
        {*globals(), *import_module("fencepost.api").__all__} - {"Any", "TYPE_CHECKING", "annotations", "import_module"}
    )
