"""Machines written as text: their head, and files of them."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fencepost.model.language import Machine, Property

from tests.helpers.blocks import machines, whole
from tests.helpers.places import MODELS
from tests.random_machines.engines import load, module

HEAD = '''"""A machine."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    three = shape(3, low=1, high=3, meaning="three")
    n = bound(3, low=1, high=9, meaning="n")
    none = bound(0, low=0, high=2, meaning="none")


'''


_FOLDER = Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


def file_of(text: str, name: str) -> Path:
    file = _FOLDER / f"{name}.py"
    file.write_text(HEAD + whole(text))
    return file


def module_of(text: str) -> Any:
    return module(HEAD + whole(text), _FOLDER)


def machine_of(text: str) -> tuple[Machine, tuple[Property, ...]]:
    return load(HEAD + whole(text), _FOLDER)


def texts(name: str) -> dict[str, str]:
    return machines(MODELS / name)
