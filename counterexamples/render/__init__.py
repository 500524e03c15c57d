"""Traces in the formats of other programs. Each format is a module, which is imported when the format is requested."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from fencepost.counterexamples.replay import Replay

FORMATS = {
    "mermaid": "a sequence diagram, which GitHub and others render",
    "itf": "JSON in the Informal Trace Format, which Apalache's and Quint's viewers read",
    "pytest": "a test to paste",
    "html": "one self-contained page to click through",
}
_MODULES = {"pytest": "pasted"}


def render(form: str, made: Replay, model: str = "") -> str:
    if form not in FORMATS:
        raise UsageError(
            f"there is no format {form!r}.{nearest(form, list(FORMATS))} The formats are: "
            f"{', '.join(('text', 'trace', *FORMATS))}."
        )
    module = import_module(f"{__name__}.{_MODULES.get(form, form)}")
    text: str = module.render(made, model)
    return text
