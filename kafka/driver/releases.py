"""Kafka's releases: jars from Maven or a folder, drivers compiled against them, and the Java and Maven commands."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from fencepost.explorers.running.cache import cache_folder
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language.errors import UsageError, nearest

JAVA = 17
MAVEN_SECONDS = 300
"""Timeout for Maven, in seconds. The first run downloads about 50 MB."""
PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
  <dependencies>{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>{more}
    </dependency>"""
EXCLUSION = """
      <exclusions>
        <exclusion>
          <groupId>{}</groupId>
          <artifactId>{}</artifactId>
        </exclusion>
      </exclusions>"""


class Artifact(NamedTuple):
    group: str
    name: str
    version: str
    classifier: str = ""
    without: tuple[str, str] | None = None
    alone: bool = False


def pom(name: str, *artifacts: Artifact) -> str:
    dependencies = []
    for item in artifacts:
        more = f"\n      <classifier>{item.classifier}</classifier>" if item.classifier else ""
        without = ("*", "*") if item.alone else item.without
        more += EXCLUSION.format(*without) if without else ""
        dependencies.append(DEPENDENCY.format(group=item.group, name=item.name, version=item.version, more=more))
    return PROJECT.format(name=name, dependencies="".join(dependencies))


def tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        where = f"it is not in JAVA_HOME={home}" if home else "it is not on PATH"
        raise UsageError(
            f"`{name}` was not found: {where}. Kafka's classes run on Java {JAVA} or newer: install a JDK "
            f"(Debian: apt-get install openjdk-{JAVA}-jdk-headless) or set JAVA_HOME."
        )
    return found


def java_version() -> int:
    told = run([tool("java"), "-version"], 30, "Java").stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < JAVA:
        was = found[1] if found else told.strip()
        raise UsageError(
            f"Kafka's classes need Java {JAVA} or newer, but `{tool('java')}` is {was}: set JAVA_HOME to a newer Java."
        )
    return int(found[1])


def fetch_jars(pom: str, jars: Path, what: str, instead: str = "give a folder of jars as `jars=`") -> Path:
    """Return a folder with a Maven project's jars, downloaded on first use. `instead` advises users without Maven."""
    if jars.is_dir():
        return jars
    maven = _maven(f"brings {what}", instead)
    jars.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        (Path(work) / "pom.xml").write_text(pom, encoding="utf-8")
        command = [
            maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars", "-DincludeScope=runtime",
        ]  # fmt: skip
        done = run(command, MAVEN_SECONDS, "Maven", Path(work))
        if done.returncode != 0:
            lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()  # Maven always colours its output
            told = (line.removeprefix("[ERROR] ") for line in lines if line.startswith("[ERROR]"))
            # after a blank line, Maven refers to its manual
            said = "\n".join(takewhile(str.strip, told))[:1500] or done.stderr[:1500]
            raise UsageError(
                f"Maven did not download {what}:\n{said.strip()}\nRun this again with access to Maven Central, or "
                "give a folder of jars as `jars=`."
            )
        move_folder(Path(work) / "jars", jars)
    return jars


def _maven(use: str, instead: str) -> str:
    maven = shutil.which("mvn")
    if maven is None:
        raise UsageError(
            f"Maven (`mvn`) was not found, which {use}: install it (Debian: apt-get install maven) or {instead}."
        )
    return maven


def maven_versions(group: str, name: str) -> list[str]:
    maven = _maven(f"lists the versions of {name}", "name one version")
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "pom.xml").write_text(pom("versions", Artifact(group, name, "[0,)", alone=True)), "utf-8")
        command = [maven, "-q", "-B", "dependency:list", "help:evaluate", "-DforceStdout"]
        done = run([*command, "-Dexpression=settings.localRepository"], MAVEN_SECONDS, "Maven", Path(work))
    folder = Path(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).strip(), *group.split("."), name)
    lists = [file.read_text("utf-8") for file in folder.glob("maven-metadata-*.xml")] if done.returncode == 0 else []
    if not lists:
        raise UsageError(f"Maven did not list the versions of {name}: run this again with access to Maven Central.")
    return sorted({version for text in lists for version in re.findall("<version>(.+?)</version>", text)})


def move_folder(made: Path, kept: Path) -> None:
    try:
        made.rename(kept)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not kept.is_dir():
            raise


def run(command: list[str], seconds: float, what: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 (our own commands)
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"{what} did not finish within {seconds:g} s and was ended: `{' '.join(command[:4])} ...`."
        ) from error
    except OSError as error:
        raise UsageError(f"{what} cannot be started: `{command[0]}`: {error.strerror}.") from error


RELEASES: dict[str, str] = {
    "3.9.2": "kafka-3.9", "4.0.2": "kafka-4.0", "4.1.2": "kafka-4.1", "4.2.1": "kafka-4.2", "4.3.1": "kafka-4.3",
    "4.4.0": "kafka-4.4",
}  # fmt: skip
"""Supported releases, each with its version of the model. Other patch releases of these lines are supported too."""
PATCHES = {item.name.removeprefix("kafka-"): item.name for item in MACHINE.patches()}
"""Releases whose rules differ from the rules of their release line."""
HERE = Path(__file__).parent
KAFKA = HERE.parent
COMPILER_SECONDS = 120
JAVA_OPTIONS = ("-XX:+UseSerialGC", "-Xmx1g", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1")
"""JVM options that disable the optimizing compiler, which would pay off only after about a hundred thousand steps."""
NAMED = re.compile(r"\b(?:org\.apache\.kafka|kafka)(?:\.[a-z][a-z0-9]*)+\.([A-Z]\w*)")
MARKED = re.compile(r"// ((?:(?:until|since) \d+\.\d+ ?)+)$")


@dataclass(frozen=True)
class Harness:
    """A driver for some of Kafka's classes: supported releases with their versions of the model, sources, and main
    class. `tests` is the Kafka artifact whose test jar the driver needs, if any.
    """

    releases: Mapping[str, str]
    main: str
    sources: tuple[Path, ...]
    tests: str = ""
    patches: Mapping[str, str] = field(default_factory=dict)

    def model_of(self, version: str) -> str:
        """Return a release's version of the model: that of the release, of its line, or of the previous line. A build
        without a release number gets the latest version, and a release older than all lines gets the earliest version.
        """
        if version in self.patches:
            return self.patches[version]
        models = {line_of(known): model for known, model in self.releases.items()}
        return models[max((line for line in models if line <= line_of(version)), default=min(models))]

    def knows(self, version: str) -> bool:
        return line_of(version) in map(line_of, self.releases)


def line_of(version: str) -> tuple[int, int]:
    """Return the first two parts of a release number, or very large numbers for builds such as trunk."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (99, 0)


BROKERS = Harness(RELEASES, "fencepost.Driver", (HERE / "loop", KAFKA / "replication" / "java"), patches=PATCHES)


@dataclass(frozen=True)
class Release:
    """A release of Kafka with its compiled driver. `model` is the version of the model to compare it with."""

    version: str
    model: str
    jars: Path
    classes: Path
    harness: Harness = BROKERS
    more: tuple[Path, ...] = ()
    warning: str = ""
    options: tuple[str, ...] = ()
    java: str = ""
    """The `java` command, or "" for the one in PATH or JAVA_HOME."""

    @property
    def known(self) -> list[str]:
        return list(self.harness.releases)

    def command(self, folder: str) -> list[str]:
        path = os.pathsep.join([str(self.classes), *(f"{where}{os.sep}*" for where in (self.jars, *self.more))])
        return [self.java or tool("java"), *JAVA_OPTIONS, *self.options, "-cp", path, self.harness.main, folder]


def release(version: str | None, jars: Path | None = None, harness: Harness = BROKERS) -> Release:
    version, jars, warning = locate_release(version, jars, harness)
    more = with_tests(version, jars, harness)
    classes = compile_driver(version, jars, harness.sources, *more)
    return Release(version, harness.model_of(version), jars, classes, harness, more, warning)


def locate_release(version: str | None, jars: Path | None = None, harness: Harness = BROKERS) -> tuple[str, Path, str]:
    java_version()
    known = ", ".join(harness.releases)
    if jars is None:
        if version is None:
            raise UsageError(
                f"no release of Kafka was given: write one of {known} as `kafka=`, or a folder as `jars=`."
            )
        if not harness.knows(version):
            lacks = (
                f" There is no test jar of {harness.tests} for Kafka {version}."
                if harness.tests and version in RELEASES
                else ""
            )
            raise UsageError(
                f"The driver does not support Kafka {version}.{lacks}{nearest(version, list(harness.releases))} Write "
                f"one of {known} or another patch release of these lines, or give a folder of jars as `jars=`."
            )
        return version, fetch_kafka(version), ""
    told = version_of(jars)
    if version is not None and told != version:
        raise UsageError(
            f"`kafka=` was given {version}, but the jars in {jars} are Kafka {told}: write {told} or leave out "
            "`kafka=`."
        )
    model = harness.model_of(told)
    unknown = f"the driver does not support the line of Kafka {told}, so it is compared with the model's {model}."
    return told, jars, "" if harness.knows(told) else unknown


def with_tests(version: str, jars: Path, harness: Harness) -> tuple[Path, ...]:
    """Return the folder of the test jar that the driver needs beyond these jars, if any; download it on first use."""
    name = harness.tests
    if not name or list(jars.glob(f"{name}-*-test.jar")):
        return ()
    project = pom("kafka-test-jars", Artifact("org.apache.kafka", name, version, "test", alone=True))
    return (
        fetch_jars(project, cache_folder() / "kafka" / version / f"{name}-test", f"the test jar of {name} {version}"),
    )


def model_of(version: str) -> str:
    return BROKERS.model_of(version)


def version_of(folder: Path) -> str:
    if not folder.is_dir():
        raise UsageError(
            f"`jars=` was given {folder}, which is not a folder: name a folder with kafka_2.13, kafka-clients and "
            "all their dependencies."
        )
    found = sorted(folder.glob("kafka-clients-*.jar"))
    if len(found) != 1:
        raise UsageError(
            f"{folder} contains {len(found)} jars named kafka-clients-*.jar; exactly one is needed to find Kafka's "
            "version."
        )
    try:
        with zipfile.ZipFile(found[0]) as jar:
            text = jar.read("kafka/kafka-version.properties").decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise UsageError(
            f"{found[0]} cannot be read as a jar of Kafka ({error}): download or build it again."
        ) from error
    told = re.search(r"^version=(\S+)", text, re.MULTILINE)
    if told is None:
        raise UsageError(
            f"{found[0]} contains no version in kafka/kafka-version.properties: download or build it again."
        )
    return told[1]


def fetch_kafka(version: str) -> Path:
    # 4.4.0 depends on a kafka-tools-api that is missing from Maven Central, and nothing here needs it
    kafka = Artifact("org.apache.kafka", "kafka_2.13", version, without=("org.apache.kafka", "kafka-tools-api"))
    return fetch_jars(
        pom("kafka-jars", kafka), cache_folder() / "kafka" / version / "jars", f"the jars of Kafka {version}"
    )


def compile_driver(version: str, jars: Path, folders: Iterable[Path], *more: Path) -> Path:
    """Return a folder with the driver's classes, compiled once for these jars from the sources in `folders`."""
    sources = {source.relative_to(folder): source for folder in folders for source in sorted(folder.rglob("*.java"))}
    known, digest = classes_in(jars), hashlib.sha256()
    texts = {
        name: adapt_classes(select_lines(source.read_text("utf-8"), version), known) for name, source in sources.items()
    }
    digest.update("\0".join(texts.values()).encode())
    for jar in sorted(jars.glob("*.jar")):
        digest.update(f"{jar.name} {jar.stat().st_size} {jar.stat().st_mtime_ns}".encode())
    classes = cache_folder() / "kafka" / version / f"classes-{digest.hexdigest()[:16]}"
    if classes.is_dir():
        return classes
    classes.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=classes.parent) as work:
        made = Path(work) / "classes"
        written = [Path(work) / "java" / name for name in texts]
        for path, text in zip(written, texts.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        among = os.pathsep.join(f"{where}{os.sep}*" for where in (jars, *more))
        command = [tool("javac"), "-nowarn", "-Xlint:none", "--release", str(JAVA), "-cp", among, "-d", str(made)]
        done = run([*command, *map(str, written)], COMPILER_SECONDS, "javac")
        if done.returncode != 0:
            said = next((line for line in done.stderr.splitlines() if ": error: " in line), done.stderr.strip()[:200])
            raise UsageError(
                f"the driver does not compile against Kafka {version} in {jars}: a class has changed, or a jar is "
                f"missing or damaged ({said.replace(f'{work}{os.sep}java{os.sep}', '')}). The driver supports "
                f"{', '.join(RELEASES)}."
            )
        move_folder(made, classes)
    return classes


def select_lines(text: str, version: str) -> str:
    """Return the driver's source without the lines for other releases.

    A line that ends in `// until 4.1` is for 4.1 and earlier, a line that ends in `// since 4.3` is for 4.3 and later,
    and a line that ends in `// since 3.8 until 3.9` is for 3.8 to 3.9.
    """
    release = line_of(version)
    kept = []
    for line in text.splitlines(keepends=True):
        mark = MARKED.search(line.rstrip())
        bounds = re.findall(r"(until|since) (\S+)", mark[1]) if mark else []
        if all(release <= line_of(bound) if word == "until" else release >= line_of(bound) for word, bound in bounds):
            kept.append(line)
    return "".join(kept)


def classes_in(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted(folder.glob("kafka*.jar")):
        try:
            with zipfile.ZipFile(path) as jar:
                names = jar.namelist()
        except (zipfile.BadZipFile, OSError) as error:
            raise UsageError(
                f"{path} cannot be read as a jar of Kafka ({error}): download or build it again."
            ) from error
        for name in names:
            package, _, simple = name.removesuffix(".class").rpartition("/")
            if name.endswith(".class") and "$" not in simple:
                found.setdefault(simple, set()).add(package.replace("/", "."))
    return found


def adapt_classes(text: str, classes: Mapping[str, set[str]]) -> str:
    """Return the source, adapted to the packages of Kafka's classes in the jars; ambiguous names stay unchanged."""

    def place(named: re.Match[str]) -> str:
        simple = named[1]
        package = named[0].removesuffix(f".{simple}")
        packages = classes.get(simple, set())
        return named[0] if package in packages or len(packages) != 1 else f"{next(iter(packages))}.{simple}"

    return NAMED.sub(place, text)
