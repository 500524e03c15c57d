"""Loader for a model file and the modules in its folder; each load is independent of all others.

A model may consist of several files: `from rules import step_of` finds `rules.py` in the model's folder. Another model
may also have a `rules.py`, and files may be edited while a process is running. Each load therefore reads and runs every
module of the model's folder again, under a unique name. Bytecode is neither written nor used, and `source_lines` gives
engines the executed source. A model inside a package may use relative imports, such as `from .rules import step_of`. If
a model adds folders or zip files to `sys.path`, their modules are treated as part of the model.
"""

import linecache
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, NoReturn

from fencepost.model.language.trees import TEXT, USER_MODULE

Files = tuple[tuple[str, str], ...]
"""Sources of the model's files, by path relative to the model's folder. The model's own file comes first."""
_NUMBERS = count()
_ONE_AT_A_TIME = RLock()


class Loaded(NamedTuple):
    module: ModuleType
    files: Files


def load(path: Path) -> Loaded:
    path = path.resolve()
    neighbours = _Neighbours(path.parent, f"{USER_MODULE}{next(_NUMBERS)}")
    stem = path.stem.encode("utf-8", "backslashreplace").decode().replace(".", "_")
    name = ".".join((neighbours.package, *neighbours.inside, stem))
    loader = _AsRead(name, str(path), neighbours)
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    with _ONE_AT_A_TIME, neighbours.found_first():
        loader.exec_module(module)
        neighbours.rename()
    return Loaded(module, neighbours.files())


def load_sent(files: Files) -> ModuleType:
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        for name, text in files:
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return load(Path(folder, files[0][0])).module


class _AsRead(SourceFileLoader):
    """Loader that ignores bytecode, because Python detects a changed source only by its modification time and size."""

    def __init__(self, name: str, path: str, owner: "_Neighbours") -> None:
        super().__init__(name, path)
        self.owner = owner

    def path_stats(self, path: Any) -> NoReturn:
        """Tell Python that no bytecode is cached, so that it neither reads nor writes any."""
        raise OSError(path)

    def get_data(self, path: str) -> bytes:
        data = _in_archive(Path(path)).read_bytes()
        if path == self.path:
            self.owner.texts[path] = data
        return data

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(module.__name__)
        assert code is not None
        text = vars(module)[TEXT] = self.owner.decoded(self.path)
        linecache.cache[self.path] = len(text), None, text.splitlines(keepends=True), self.path
        self.owner.modules.append(module)
        exec(code, vars(module))  # noqa: S102 (the user's own model)


def _in_archive(path: Path) -> Path | zipfile.Path:
    archive = next((item for item in (path, *path.parents) if item.exists()), path)
    if archive.is_dir() or not zipfile.is_zipfile(archive):
        return path
    inside = path.relative_to(archive).parts
    return zipfile.Path(archive).joinpath(*inside) if inside else zipfile.Path(archive)


class _Neighbours(MetaPathFinder):
    """Finder that searches the model's folder first and remembers the modules that it finds."""

    def __init__(self, folder: Path, package: str) -> None:
        self.folder, self.root, self.package = folder, folder, package
        while (self.root / "__init__.py").is_file():
            self.root = self.root.parent
        self.inside = folder.relative_to(self.root).parts
        self.texts: dict[str, bytes] = {}
        self.modules: list[ModuleType] = []
        self.found: set[str] = set()
        self.usual: list[str] = []
        """Python's module path, to which the model may add folders."""

    def find_spec(self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        *_, leaf = name.split(".")
        if name == self.package:
            return self._namespace(name, self.root)
        if name.startswith("fencepost."):  # in a clone, its modules lie below the root of the tests' models
            return None
        added = [entry for entry in sys.path if entry not in self.usual and not entry.endswith("-packages")]
        if path is None:
            path = added
            if self._is_ours(leaf):
                path = [str(self.folder), str(self.root)] if leaf in self.inside[:1] else [str(self.folder)]
        for place in map(Path, path):
            roots: tuple[str | Path, ...] = (self.root, *added)
            if not any(place.is_relative_to(root) for root in roots):
                continue
            within = _in_archive(place)
            package, file = within / leaf, within / f"{leaf}.py"
            if (package / "__init__.py").is_file():
                file, inside = package / "__init__.py", [str(package)]
            elif file.is_file():
                inside = None
            elif package.is_dir() and (within is not place or any((place / leaf).glob("**/*.py"))):
                self.found.add(name.partition(".")[0])
                return self._namespace(name, place / leaf)
            else:
                continue
            self.found.add(name.partition(".")[0])
            loader = _AsRead(name, str(file), self)
            return spec_from_file_location(name, str(file), loader=loader, submodule_search_locations=inside)
        return None

    @staticmethod
    def _namespace(name: str, folder: Path) -> ModuleSpec:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    @contextmanager
    def found_first(self) -> Iterator[None]:
        """Make imports find the modules of this folder, not modules of the same name that another load imported."""
        beside = {item.name.partition(".")[0] for item in self.folder.iterdir()} | {*self.inside[:1]}
        first = {name: name.partition(".")[0] for name in sys.modules}
        hidden = {name: sys.modules.pop(name) for name in first if first[name] in beside and self._is_ours(first[name])}
        sys.meta_path.insert(0, self)
        self.usual = [*sys.path]
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            sys.path[:] = self.usual
            for name in [name for name in sys.modules if name.partition(".")[0] in self.found]:
                del sys.modules[name]
            sys.modules.update(hidden)

    def rename(self) -> None:
        """Give unique names to the modules in the model's folder, and to the definitions in them."""
        for module in self.modules:
            old = module.__name__
            if old.startswith(USER_MODULE):
                continue
            new = f"{self.package}.{old}"
            for item in vars(module).values():
                for found in (item, getattr(item, "function", None)):
                    if isinstance(found, type | FunctionType) and found.__module__ == old:
                        found.__module__ = new
            module.__name__ = new
            sys.modules[new] = module

    def decoded(self, path: str) -> str:
        return decode_source(self.texts[path])

    def files(self) -> Files:
        for place in (self.folder, *self.folder.parents)[: len(self.inside)]:  # the packages that contain the model
            init = place / "__init__.py"
            self.texts.setdefault(str(init), init.read_bytes())
        root = os.path.commonpath([self.root, *(Path(path).parent for path in self.texts)])
        return tuple((Path(path).relative_to(root).as_posix(), self.decoded(path)) for path in self.texts)

    def _is_ours(self, name: str) -> bool:
        if name in sys.stdlib_module_names or name == "fencepost" or not name.isidentifier():
            return False
        if (self.folder / f"{name}.py").is_file() or (self.folder / name / "__init__.py").is_file():
            return True
        is_new = sys.modules.get(name) is None
        return is_new and (name in self.inside[:1] or (self.folder / name).is_dir())
