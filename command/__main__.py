"""`python -m fencepost` is the command `fencepost`. The package itself is a namespace of the folders beside this one."""

from fencepost.cli.main import run

run()
