"""The command `fencepost` for `python -m fencepost`."""

from fencepost.cli.main import run

run()
