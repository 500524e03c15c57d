"""`python -m fencepost.cli` is the command `fencepost`."""

from fencepost.cli.main import run

run()
