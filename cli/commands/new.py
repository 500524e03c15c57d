"""`fencepost new NAME`: a model to start from."""

from click import argument, command
from fencepost.api.calls.new import new as written
from fencepost.api.calls.new import pytest_command
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_text


@command()
@argument("name", metavar="NAME")
def new(name: str) -> Exit:
    """Write a small running model to NAME.py and a test of it to test_NAME.py, in this folder.

    It has messages, a value that may be NONE, a budget of faults, and properties of every kind: edit it into your own
    model.

    Exit status: 0 written, 2 bad input, or files of these names exist.
    """
    model, test = written(name)
    print_text(
        f"{model}: a model; `fencepost check {model}` checks it\n"
        f"{test}: its tests; `{pytest_command(test)}` runs them, after `python -m pip install pytest`\n"
    )
    return Exit.AS_EXPECTED
