"""Installation of clients by name and version, each into its own directory in the cache."""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver.releases import (
    Artifact,
    compile_driver,
    fetch_jars,
    maven_versions,
    move_folder,
    pom,
    run,
    tool,
)
from fencepost.model.language.errors import UsageError, nearest

DRIVERS = Path(__file__).parent / "drivers"
PYTHON = {"librdkafka": "confluent-kafka", "kafka-python": "kafka-python", "aiokafka": "aiokafka"}
GO = {"franz-go": "github.com/twmb/franz-go/pkg/kgo", "sarama": "github.com/IBM/sarama"}
"""Clients written in Go, with their modules. Before 1.40, sarama belonged to Shopify."""
NEWEST = {
    "java": "4.4.0", "librdkafka": "2.16.1", "franz-go": "1.22.2", "sarama": "1.61.1", "kafka-python": "3.0.12",
    "aiokafka": "0.14.0",
}  # fmt: skip
PRODUCERS = ("java", "librdkafka", "kafka-python")
"""The clients whose idempotent producers are tested."""
OWN = "fencepost"
"""Our own small client, which needs no installation."""
SECONDS = 300
LEAVE = "leave this client out"
VERSION = re.compile(r"[0-9][0-9A-Za-z.]*\Z")
MODULES = {"librdkafka": "confluent_kafka", "kafka-python": "kafka", "aiokafka": "aiokafka"}
LIBRARY = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
found = importlib.import_module(sys.argv[2])
print(found.__file__)
print(found.libversion()[0] if hasattr(found, "libversion") else "")
"""
JAVA = ("-XX:+UseSerialGC", "-Xmx512m", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Xss256k")


@dataclass(frozen=True)
class Installed:
    name: str
    version: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    contains: str = ""
    """A sentence that names both releases if the client wraps a library with another release number."""

    @property
    def title(self) -> str:
        return f"{self.name}=={self.version}" if self.version else self.name


def parse_client(asked: str) -> tuple[str, str]:
    name, _, version = asked.partition("==")
    if name == OWN or name.startswith(f"{OWN}/"):
        return name, ""
    if name not in NEWEST:
        raise UsageError(
            f"`clients=` was given {asked!r}, which is not a supported client.{nearest(name, list(NEWEST))} Write one "
            f"of {', '.join(NEWEST)} or {OWN}, optionally with a version, such as librdkafka==2.6.1."
        )
    version = version or NEWEST[name]
    if not (VERSION.match(version) or Path(version).is_dir()):
        raise UsageError(
            f"`clients=` was given {asked!r}, which contains neither a version nor a folder: expected a version, "
            f"such as {name}=={NEWEST[name]}, or the folder of your own build."
        )
    return name, version


def ends_of(asked: str) -> tuple[str, ...]:
    name, _, versions = asked.partition("==")
    first, dots, last = versions.partition("..")
    if Path(versions).is_dir():
        dots = ""
    ends = tuple(f"{name}=={version}" for version in (first, last)) if dots else (asked,)
    for item in ends:
        parse_client(item)
    if dots and (name not in NEWEST or not (first and last) or _order(first) >= _order(last)):
        raise UsageError(
            f"`clients=` was given {asked!r}, which is not a range: expected an earlier and a later release, such as "
            "librdkafka==2.5.3..2.8.0."
        )
    return ends


def releases_between(first: str, last: str) -> list[str]:
    (name, low), (_, high) = parse_client(first), parse_client(last)
    found = [item for item in _registered(name) if re.fullmatch(r"[0-9.]+", item)]
    within = {item for item in found if _order(low) < _order(item) < _order(high)}
    return [f"{name}=={version}" for version in (low, *sorted(within, key=_order), high)]


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall("[0-9]+", version)]


def _registered(name: str) -> list[str]:
    if name in PYTHON:
        words = [sys.executable, "-m", "pip", "index", "versions", PYTHON[name]]
        done = run(words, SECONDS, "pip")
        _require_done(done, f"the releases of {name} cannot be listed")
        return re.findall(r"[0-9][^,\s]*", done.stdout.partition("Available versions:")[2].partition("\n")[0])
    if name in GO:
        module = GO[name].removesuffix("/pkg/kgo")
        go = _go_command(f"is needed to list the releases of {name}")
        with tempfile.TemporaryDirectory() as work:
            lists = [
                run([go, "list", "-m", "-versions", item], SECONDS, "go", Path(work))
                for item in dict.fromkeys((module.replace("IBM", "Shopify"), module))
            ]
        _require_done(lists[-1], f"the releases of {name} cannot be listed")
        return [version for done in lists for version in re.findall(r"\sv(\S+)", done.stdout)]
    return maven_versions("org.apache.kafka", "kafka-clients")


def install_client(asked: str) -> Installed:
    name, version = parse_client(asked)
    if name not in NEWEST:
        return Installed(name, version)
    own = None if VERSION.match(version) else Path(version).resolve()
    if name == "java":
        return _java(version, own)
    return _go(name, version, own) if name in GO else _python(name, version, own)


def _require_done(done: subprocess.CompletedProcess[str], failure: str) -> None:
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UsageError(f"{failure}: {said[-1] if said else 'the command gave no reason'}.")


def _go_command(use: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise UsageError(f"`go` was not found, but it {use}: install Go, or {LEAVE}.")
    return go


def _python(name: str, version: str, own: Path | None) -> Installed:
    tag = f"{sys.version_info[0]}.{sys.version_info[1]}"
    folder = own or cache_folder() / "clients" / f"{name}-{version}-{tag}"
    if not folder.is_dir():
        work = folder.with_suffix(".new")
        work.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.rmtree(work, ignore_errors=True)
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--only-binary", ":all:"]
        pip = [sys.executable, "-m", "pip", "install", *options]
        done = run([*pip, "--target", str(work), f"{PYTHON[name]}=={version}"], SECONDS, "pip")
        _require_done(done, f"{name}=={version} cannot be installed")
        move_folder(work, folder)
    command = (sys.executable, str(DRIVERS / "python_client.py"), name)
    environment = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    contains = ""
    if own or name == "librdkafka":
        module = MODULES[name]
        done = run([sys.executable, "-c", LIBRARY, str(folder), module], SECONDS, "python")
        where, _, library = done.stdout.strip().partition("\n")
        if own and not Path(where).is_relative_to(own):
            raise UsageError(f"`clients=` was given the folder {version}, but Python cannot import `{module}` from it.")
        if not own and library not in ("", version):
            contains = f"confluent-kafka {version} contains librdkafka {library}"
    return Installed(name, version, command, environment, contains)


def _java(version: str, own: Path | None) -> Installed:
    if own and not any(own.glob("kafka-clients*.jar")):
        raise UsageError(f"`clients=` was given the folder {version}, which has no kafka-clients jar.")
    project = pom("kafka-clients-jars", Artifact("org.apache.kafka", "kafka-clients", version))
    kept = cache_folder() / "clients" / f"java-{version}"
    jars = own or fetch_jars(project, kept, f"kafka-clients {version}", LEAVE)
    classes = compile_driver(NEWEST["java"] if own else version, jars, (DRIVERS / "java",))
    return Installed("java", version, (tool("java"), *JAVA, "-cp", f"{classes}:{jars}/*", "fencepost.clients.Driver"))


def _go(name: str, version: str, own: Path | None) -> Installed:
    module = GO[name]
    text, shared = (DRIVERS / "go" / f"{name}.go").read_bytes(), (DRIVERS / "go" / "serve.go").read_bytes()
    if name == "sarama" and not own and [int(part) for part in re.findall("[0-9]+", version)[:2]] < [1, 40]:
        module, old = "github.com/Shopify/sarama", module
        text = text.replace(old.encode(), module.encode())
    key = hashlib.sha256(text + shared + str(own or "").encode()).hexdigest()[:12]
    folder = cache_folder() / "clients" / f"{name}-{'own' if own else version}-{key}"
    if own or not folder.is_dir():
        go = _go_command(f"is needed to build the driver of {name}")
        work = folder.with_suffix(".new")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True, mode=0o700)
        shutil.rmtree(folder, ignore_errors=True)
        (work / "client.go").write_bytes(text)
        (work / "serve.go").write_bytes(shared)
        (work / "go.mod").write_text("module driver\n\ngo 1.21\n", "utf-8")
        root = module.removesuffix("/pkg/kgo")
        get = [["mod", "edit", f"-replace={root}={own}"], ["mod", "tidy"]] if own else [["get", f"{module}@v{version}"]]
        for words in (*get, ["build", "-o", "driver", "."]):
            _require_done(run([go, *words], SECONDS, "go", work), f"{name}=={version} cannot be installed")
        move_folder(work, folder)
    return Installed(name, version, (str(folder / "driver"),))
