"""A model and the modules beside it belong to one load: another model's or an earlier text is never used."""

import sys
from pathlib import Path

import fencepost
import pytest
from fencepost.api.asking.targets import find_protocol
from fencepost.explorers.model_files import load, load_sent
from fencepost.model import cluster
from fencepost.model.cluster import machine

from tests.agreement.test_beside import HEAD, SESSIONS, SHARED, files_of
from tests.helpers.blocks import whole
from tests.helpers.places import MACHINES

MODEL = HEAD + whole(files_of(SESSIONS[SHARED])["counting"])
RULES = 'def step_of(s, c):\n    """How far."""\n    return {step}\n'
LAYOUTS = {
    "a module": ("from rules import step_of", "rules.py"),
    "a package": ("from lib.rules import step_of", "lib/rules.py"),
    "a name of the package": ("from lib import rules\nstep_of = rules.step_of", "lib/rules.py"),
    "a folder": ("from parts.inner.rules import step_of", "parts/inner/rules.py"),
    "a package that imports relatively": ("from lib import step_of", "lib/inner/rules.py"),
    "a neighbour, relatively": ("from .rules import step_of", "rules.py"),
    "a package around the model": ("from ..rules import step_of", "own/rules.py"),
    "a folder that it puts on the path": (
        "import sys\nsys.path.insert(0, __file__.replace('model.py', 'shared'))\nfrom common import step_of",
        "shared/common.py",
    ),
    "the name of that package": ("from own.rules import step_of", "own/rules.py"),
}


def write(folder: Path, layout: str, step: int) -> Path:
    imports, place = LAYOUTS[layout]
    model = "own/inner/model.py" if place.startswith("own/") else "model.py"
    texts = {place: RULES.format(step=step), model: MODEL.replace("from rules import step_of", imports)}
    if place.startswith("lib/"):
        texts["lib/__init__.py"] = "from .inner.rules import step_of\n" if "inner" in place else ""
    elif place.startswith("own/"):
        texts |= {"own/__init__.py": "", "own/inner/__init__.py": ""}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / model


@pytest.mark.parametrize("engine", ["native", "plain"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_models_have_the_helpers_beside_them(layout: str, engine: str, tmp_path: Path) -> None:
    one, three = write(tmp_path / "a", layout, 1), write(tmp_path / "b", layout, 3)
    for file, verdict, states in ((three, "holds", 2), (one, "violated", 4), (three, "holds", 2)):
        found = fencepost.check(file, engine=engine)
        assert (found.verdict, found.distinct) == (verdict, states)
    assert not {"rules", "lib", "parts", "own", "common"} & set(sys.modules)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_helper_that_is_edited_is_read_again(layout: str, tmp_path: Path) -> None:
    model = write(tmp_path, layout, 1)
    before = find_protocol(str(model))
    assert fencepost.check(model).distinct == 4
    write(tmp_path, layout, 3)
    assert fencepost.check(model).distinct == 2
    assert fencepost.check(before).distinct == 4, "the text that was executed is the one that is compiled"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_helpers_are_sent_along(layout: str, tmp_path: Path) -> None:
    files = find_protocol(str(write(tmp_path, layout, 3))).files
    assert files[0][0].endswith("model.py")
    assert LAYOUTS[layout][1] in dict(files)
    sent = load_sent(files)
    assert fencepost.check(sent.MACHINE, sent.PROPERTIES).distinct == 2
    assert not Path(sent.__file__).exists()


def test_a_page_shows_the_line_that_was_executed(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    text = MODEL.replace("from rules import step_of\n", "").replace("step_of(s, c)", "1")
    text = text.replace("    require", "    require(not c.careful or s.x < 1)\n    require")
    text = text.replace("class State", '    careful = switch(default=False, meaning="careful")\n\nclass State')
    for more in ("", "# one\n# two\n"):
        model.write_text(more + text)
        page = fencepost.check(model).traces["small"].render("html")
        assert "require(not c.careful or s.x &lt; 1)" in page


def test_modules_of_fencepost_belong_to_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "machine", machine)
    monkeypatch.delitem(sys.modules, machine.__name__)
    assert not any(name.startswith("model/") for name, _ in load(MACHINES / "shrink_any_epoch.py").files)
