"""Sentences beside verdicts are right: sessions of commands on small files that once had, or may have, a wrong answer.

A block of `models/beside.txt` and `models/strange.txt` has files, each after `@ ` and its path, or `@ PATH = OTHER` if
it begins as another. Below `---` are the commands: `edit FILE: OLD -> NEW` (`\n` is a new line), or an exit status, a
dollar sign and a command; then texts of its output, `! ` before one that must be missing. A command that names ENGINE
runs on the native and on the plain engine.

`models/reported.txt` has models on which engines once differed: they now agree.
"""

import re
import shlex
import sys
from pathlib import Path

import fencepost.api as f
import pytest

from tests.helpers.blocks import Block, blocks, whole
from tests.helpers.commands import fencepost
from tests.helpers.parameters import few
from tests.helpers.places import MACHINES, MODELS
from tests.helpers.reported import CASES, HEADER, found, written

HEAD = """from typing import Annotated
from fencepost.model.language import *
"""
VARIANT = """from base import *
from base import MACHINE as BASE, PROPERTIES
from fencepost.model.language import action, require
"""
SHARED, LARGE = "files that others take", "a variant that normalize undoes does nothing"
BESIDE, STRANGE = ({item.title: item for item in blocks(MODELS / f"{name}.txt")} for name in ("beside", "strange"))
SESSIONS = {**BESIDE, **STRANGE}


def files_of(block: Block) -> dict[str, str]:
    found: dict[str, str] = {} if block.title == SHARED else files_of(SESSIONS[SHARED])
    for part in re.split(r"^@ ", block.body, flags=re.MULTILINE)[1:]:
        place, _, text = part.partition("\n")
        name, _, other = place.partition(" = ")
        found[name] = found.get(other, "") + f"{text.rstrip()}\n"
    return found


def write(block: Block) -> None:
    """Write the files of a block; a model gets its head and its ends."""
    for name, text in files_of(block).items():
        file = Path(name)
        if file.suffix:
            file.parent.mkdir(parents=True, exist_ok=True)
            is_whole = "@action" not in text or text.startswith("VARIANT")
            file.write_text(text.replace("VARIANT\n", VARIANT) if is_whole else HEAD + whole(text))


def play(block: Block, engine: str) -> None:
    output = ""
    for line in block.answer.splitlines():
        edit = re.fullmatch(r"edit (\S+): (.+) -> (.+)", line)
        asked = re.fullmatch(r"(\d) \$ (.+)", line)
        if edit:
            file = Path(edit[1])
            text = file.read_text()
            assert edit[2] in text
            file.write_text(text.replace(edit[2], edit[3].replace("\\n", "\n")))
        elif asked:
            found = fencepost(*shlex.split(asked[2].replace("ENGINE", engine).replace("MACHINES", str(MACHINES))))
            output = " ".join(f"{found.stdout} {found.stderr}".split())
            assert found.exit_code == int(asked[1]), f"{asked[2]}: {output}"
        elif line.startswith("! "):
            assert line[2:] not in output, output
        else:
            assert line in output, f"{line!r} is not in {output}"


ASKED = [
    pytest.param(title, engine, marks=pytest.mark.long if title.startswith(LARGE) or engine == "plain" else ())
    for title in SESSIONS
    for engine in ("native", "plain")
    if title != SHARED and (engine == "native" or "ENGINE" in SESSIONS[title].answer)
]


@pytest.mark.parametrize(("title", "engine"), ASKED)
def test_the_answer_is_right(title: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = SESSIONS[title]
    monkeypatch.chdir(tmp_path)
    before = {*sys.modules}
    write(block)
    play(block, engine)
    left = {name for name in {*sys.modules} - before if name.partition(".")[0] in {"rules", "lib", "parts", "common"}}
    assert not left, "a module beside a model belongs to its load"


IDS = [claim for claim, _, _ in CASES]


@pytest.mark.parametrize(("claim", "outcome", "text"), CASES, ids=IDS)
def test_searches_find_the_same(claim: str, outcome: str, text: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    wanted = found(file, engine="plain")
    assert wanted[0] == outcome, claim
    assert found(file, workers=2) == wanted
    assert found(file, compact=True) == wanted


@pytest.mark.parametrize(("claim", "outcome", "text"), few(CASES, 3, several=True), ids=IDS)
def test_proofs_agree_with_searches(claim: str, outcome: str, text: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    verdicts = []
    for depth in (None, 5):
        try:
            verdicts.append(f.prove(file, depth=depth).verdict.value)
        except f.FencepostError as error:
            verdicts.append(str(error))
    wanted = {"violated": ["violated", "violated"], "holds": ["proved", "not-found"]}
    assert verdicts == wanted.get(outcome.split(maxsplit=1)[0], [outcome, outcome]), claim


DECLARATIONS = [
    ("Small], Size(C.n)]", "Small], Size(C.n - 4)]",
        "State.cells: its size is -1 under these constants, but must be 0 or more."),
    ("[Message], Size(3)", "[Message], Size(0 * C.n - 1)",
        "State.box: its size is -1 under these constants, but must be 0 or more."),
    ("BitSet(0)", "BitSet(C.n - 4)",
        "a set has room for -1 members under these constants: the number must be 0 or more."),
]  # fmt: skip


@pytest.mark.parametrize(("there", "instead", "says"), DECLARATIONS, ids=[item[1] for item in DECLARATIONS])
def test_a_declaration_that_these_constants_make_impossible_is_refused_by_every_engine(
    there: str, instead: str, says: str, tmp_path: Path
) -> None:
    _, _, text = CASES[0]
    file = written(text, tmp_path, HEADER.replace(there, instead, 1))
    assert all(says in found(file, engine=engine)[0] for engine in ("plain", "native"))
    with pytest.raises(f.FencepostError) as refused:
        f.prove(file)
    assert says in str(refused.value)
