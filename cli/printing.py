"""`print(answer)` in Python: prints the first screens of the commands, without hints for the command line."""

import io
import re
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any

from fencepost.cli.views.console import results

HINT = re.compile(r"^`-v` shows .*?(\n\n|\Z)| Evidence, proof: `-v`\.|: `-v`", re.MULTILINE | re.DOTALL)
"""A pattern for hints about command-line options, which do not exist in Python."""
VIEWS = {
    "AblateResult": ("commands.ablate", "print_matrix"),
    "AdviceResult": ("commands.advise", "print_advice"),
    "AuditResult": ("views.audit", "print_screen"),
    "CatalogueResult": ("commands.catalogue", "print_headline"),
    "CheckResult": ("views.report", "print_page"),
    "ConformResult": ("commands.conform", "print_conform"),
    "CompareResult": ("commands.compare", "print_compared"),
    "FaultsResult": ("commands.faults", "print_faults"),
    "ProveResult": ("commands.prove", "print_report"),
    "SimulateResult": ("commands.simulate", "print_sample"),
    "SweepResult": ("commands.sweep", "print_sweep"),
}


def first_screen(answer: Any) -> str:
    name = type(answer).__name__
    if name not in VIEWS:
        return repr(answer)
    module, view = VIEWS[name]
    show = getattr(import_module(f"fencepost.cli.{module}"), view)
    if "verbose" in signature(show).parameters:
        show = partial(show, verbose=False)
    with redirect_stdout(io.StringIO()) as out:
        show(results(narrow=True), answer.to_dict() if name in ("AuditResult", "SweepResult") else answer)
    return HINT.sub("", out.getvalue()).rstrip("\n")
