"""Places in this clone that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
MACHINES = ROOT / "tests" / "machines"
ARCHIVE = ROOT / "counterexamples" / "archive"
MODELS = ROOT / "tests" / "agreement" / "models"
"""Small models, in the format of `blocks`, on which engines are compared."""
DOCS = ROOT / "docs"
