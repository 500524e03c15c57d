"""Cache of proofs. A proof depends only on the source of the functions, the constants and the question."""

import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import z3
from fencepost.explorers.program.fingerprint import ends, plain_texts, texts
from fencepost.explorers.running.cache import cache_folder, read_cached, write_cached
from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.model import language
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.machine import Machine

MARK = hashlib.sha256().digest_size
"""Length in bytes of the checksum that precedes a proof."""


def cached(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...],
    settings: Settings,
    tell: Callable[[int, int], None] | None = None,
) -> Proof:
    engine = "\n".join([*ends(machine, properties), *plain_texts(machine.refuse), engine_version()])
    file = cache_folder() / "proofs" / digest(machine, constants, properties, settings, engine=engine)
    found = _kept(file)
    if found is not None:
        return replace(found, cached=True)
    made = prove(machine, constants, properties, settings, tell)
    if not made.gave_up:
        pickled = pickle.dumps(made)
        write_cached(file, hashlib.sha256(pickled).digest() + pickled)
    return made


def _kept(file: Path) -> Proof | None:
    try:
        text = read_cached(file)
    except OSError:
        return None
    mark, pickled = text[:MARK], text[MARK:]
    if hashlib.sha256(pickled).digest() == mark:
        found = pickle.loads(pickled)  # noqa: S301 (nobody else can write the cache, and it is as it was written)
        if isinstance(found, Proof):
            return found
    file.unlink(missing_ok=True)
    sys.stderr.write(f"note: {file} was damaged, so the proof is recomputed.\n")
    return None


_ASKED = "k", "depth", "everywhere", "explain", "havoc_loops"


def digest(
    machine: Machine, constants: Constants, properties: tuple[Property, ...], settings: Settings, *, engine: str
) -> str:
    parts = [
        *texts(machine, properties),
        repr(sorted(constants.values.items())),
        repr([(item.name, item.kind, item.on.name if item.on else "") for item in properties]),
        repr((sorted(settings.lifted.items()), *map(vars(settings).get, _ASKED))),
        engine,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def engine_version() -> str:
    folders = (Path(__file__).parent, Path(language.__file__).parent, Path(inspect.getfile(texts)).parent)
    files = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    text = "".join(path.read_text() for path in files)
    return f"z3 {z3.get_version_string()} {hashlib.sha256(text.encode()).hexdigest()}"
