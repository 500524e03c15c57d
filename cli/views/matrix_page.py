"""A matrix of necessity as one page of HTML that needs nothing else: a cell opens its counterexample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.answers.matrix import meaning_for, not_run
from fencepost.api.answers.suspicions import SUSPICIONS

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import MatrixData


def page(data: MatrixData) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("fencepost.cli.views"), autoescape=True, trim_blocks=True)
    sentences = {item["name"]: item["sentence"] for item in data["properties"]}
    return environment.get_template("matrix.html").render(
        data=data, meaning=meaning_for(data), not_run=not_run(data), sentences=sentences, suspicions=SUSPICIONS
    )
