"""`fencepost new NAME`: writes a model to start from."""

from click import argument, command
from fencepost.api.calls.new import new as written
from fencepost.api.calls.new import pytest_command
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_text


@command()
@argument("name", metavar="NAME")
def new(name: str) -> Exit:
    """Write a small working model to NAME.py and its test to test_NAME.py, in the current folder.

    The model has messages, a value that may be NONE, a fault budget, and properties of every kind. Turn the file into a
    model of your own.

    Exit status: 0 if the files were written, 2 for bad input or if a file with one of these names exists.
    """
    model, test = written(name)
    print_text(
        f"{model}: a model; `fencepost check {model}` checks it\n{test}: its tests; `{pytest_command(test)}` runs "
        "them, after `python -m pip install pytest`\n"
    )
    return Exit.AS_EXPECTED
