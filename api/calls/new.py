"""A small working model with a test, written under a name of the user's choice as a starting point."""

import importlib.util
import inspect
import keyword
import re
import sys
from pathlib import Path

from fencepost.api.calls import first_model
from fencepost.api.files import write_text
from fencepost.model.language.errors import UsageError

TEST = '''"""The model of {name}: run it with `python -m pytest {test}`."""

import fencepost.api as f
from {module} import MACHINE, PROPERTIES


def test_two_clients_take_turns(fencepost) -> None:
    fencepost.check(MACHINE, PROPERTIES, clients=2)


def test_who_holds_the_lock_keeps_it() -> None:
    lock = f.in_hand(MACHINE, PROPERTIES, clients=2)
    state = lock.state(
        holder=0,
        session={{0: {{"phase": "holding"}}, 1: {{"phase": "waiting"}}}},
        messages=[{{"client": 1, "kind": "ask"}}],
    )
    assert lock.why_not(state, "server-grants", m={{"client": 1}}) == "`require(s.holder == NONE)` refuses"
    after = lock.take(state, "client-releases", client=0)
    assert lock.holds(after, "one-holds")
    assert state.changes_to(after) == ["messages + {{client=0,kind=release}}", "session[0].phase holding -> idle"]
'''


def pytest_command(test: Path) -> str:
    """Return the command that runs a test. In a clone of Fencepost, the command overrides the project's options."""
    own = next((item for item in test.resolve().parents if (item / "pyproject.toml").is_file()), None)
    ours = own is not None and '\nname = "fencepost"\n' in (own / "pyproject.toml").read_text()
    return f"python -m pytest {'-o addopts= ' if ours else ''}{test}"


def new(name: str, folder: str | Path = ".") -> tuple[Path, Path]:
    """Write a small working model to NAME.py, and its test to test_NAME.py; return both files."""
    module = name.removesuffix(".py").replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module):
        raise UsageError(
            f"{name!r} does not name a model: write a word of letters, digits and dashes, such as my-protocol."
        )
    spec = None if (Path(folder) / f"{module}.py").exists() else importlib.util.find_spec(module)
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or (spec and spec.origin):
        raise UsageError(
            f"{module!r} is a Python keyword or an installed module, which the file would shadow: choose another name."
        )
    files = Path(folder) / f"{module}.py", Path(folder) / f"test_{module}.py"
    for file in files:
        if file.exists():
            raise UsageError(f"the file {file} already exists: choose another name, or move the file.")
    label = module.replace("_", "-")
    text = inspect.getsource(first_model)
    _, docstring, rest = text.split('"""', 2)
    told = re.sub(r"\n\n`fencepost new NAME`.*", "", docstring, flags=re.DOTALL)
    hint = (
        "Turn it into your own model: change the records, then the actions, then the properties.\n`fencepost check "
        f"{module}.py` finds violated properties and shows the histories that violate them.\n"
    )
    write_text(files[0], f'"""{told}\n\n{hint}"""{rest}'.replace('    "lock",\n', f'    "{label}",\n'))
    write_text(files[1], TEST.format(name=label, module=module, test=files[1].name))
    return files
