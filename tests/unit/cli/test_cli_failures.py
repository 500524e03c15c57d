"""Failures in or around Fencepost also end as one message."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.files import write_text
from fencepost.cli.commands import check as checking
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.language.errors import MismatchError

from tests.helpers.commands import fencepost
from tests.helpers.parameters import few, words
from tests.helpers.places import MACHINES


@pytest.mark.parametrize(
    ("error", "debug", "status", "said"),
    [
        (MismatchError("native and plain differ."), "", 4,
            "fencepost: Fencepost contradicts itself: native and plain differ.\n"),
        (RuntimeError("odd\nsecond line"), "", 4, ("fencepost: unexpected error: RuntimeError: odd\n"
            "This is a bug in Fencepost: please report it with the command that you ran; "
            "FENCEPOST_DEBUG=1 shows the traceback.\n")),
        (RuntimeError("odd"), "1", 4, "Traceback (most recent call last):"),
        (MemoryError(), "", 3, "fencepost: memory ran out before there was a result."),
    ],
)  # fmt: skip
def test_what_fails_inside_has_its_status_and_one_message(
    error: BaseException, debug: str, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setenv("FENCEPOST_DEBUG", debug)
    monkeypatch.setattr(checking, "explored", fail)
    result = fencepost("check", "kip320")
    assert result.exit_code == status
    assert result.stderr == said if said.endswith("\n") else result.stderr.startswith(said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
@pytest.mark.parametrize("command", few([["list"], ["list", "--json"], ["guarantees"]], 3))
def test_output_that_cannot_be_written_ends_with_status_2(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = _run(command, stdout=full)
    message = "the output cannot be written: No space left on device. Choose a place with free space."
    assert (done.returncode, done.stderr) == (2, f"fencepost: {message}\n")


VAULT = str(MACHINES / "vault.py")
TOLD = ["faults", VAULT, "--property", "a-copy-is-left"]
"""A command that reports its work on stderr."""


@pytest.mark.parametrize("number", few([1, 0, 2], 3))
def test_a_stream_that_is_closed_changes_no_status(number: int) -> None:
    assert _ended(TOLD, preexec_fn=lambda: os.close(number)) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("stream", few(["stdout", "stderr"], 2))
def test_a_reader_that_is_gone_changes_no_status(stream: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for command in (TOLD, ["check", "kip101", "--profile", "quick", "-v"]):
        assert _ended(command, **{stream: writing}) == (0, "")
    os.close(writing)


def test_a_name_that_the_system_refuses_is_bad_input() -> None:
    for command in (["check", "a" * 300], ["check", "a" * 300 + ".py"], ["new", "a" * 300]):
        result = fencepost(*command)
        assert (result.exit_code, len(result.stderr) < 300) == (2, True)
        assert "File name too long. Choose another file or folder." in result.stderr


def full(most: int) -> Callable[[], None]:
    """Limit the size of a process's files, as on a disk with little free space."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return limited


@pytest.mark.parametrize("room", [0, 100])
def test_a_trace_that_has_no_room_to_be_rewritten_stays_as_it_is(room: int, tmp_path: Path) -> None:
    file = tmp_path / "a.trace"
    text = (ARCHIVE / "kip101-weak-isr.trace").read_bytes().replace(b"----", b"# mine\n----", 1)
    file.write_bytes(text)
    assert _ended(["replay", "--rewrite", str(file)], preexec_fn=full(room)) == (2, "")
    assert file.read_bytes() == text
    assert list(tmp_path.iterdir()) == [file]
    assert fencepost("replay", "--rewrite", str(file)).exit_code == 0
    assert b"# mine" in file.read_bytes()


LAMPS, PLANTED = (str(MACHINES / name) for name in ("lamps.py", "planted.py"))
FOUND = {
    "check": (["check", LAMPS], "some-lamp-is-dark"), "ablate": (["ablate", PLANTED, "--workers", "1"], "sell 1"),
    "faults": (["faults", VAULT, "--property", "a-copy-is-left", "--grid", "copies=1,2"], "a-copy-is-left"),
    "catalogue": (["check", "kip101", "--profile", "quick"], "run"),
    "walks": (["simulate", LAMPS, "--walks", "100"], "some-lamp-is-dark"),
}  # fmt: skip
KEEPING = [
    *(("check", [f"--{name}", file]) for name, file in (("trace", "a.trace"), ("junit", "a.xml"), ("sarif", "a.json"))),
    ("check", ["--max-states", "6", "--checkpoint", "kept"]),
    *(("ablate", option) for option in (["--checkpoint", "kept"], ["--html", "a.html"], ["--trace", "traces"])),
    *(("faults", option) for option in (["--checkpoint", "kept"], ["--trace", "traces"])),
    *(("catalogue", option) for option in (["--checkpoint", "kept"], ["--junit", "a.xml"])),
    ("walks", ["--trace", "a.trace"]),
]


@pytest.mark.parametrize("json", few([[], ["--json"]], 2))
@pytest.mark.parametrize(("work", "option"), few(KEEPING, 8, several=True))
def test_what_is_found_is_told_if_disks_are_full(work: str, option: list[str], json: list[str], tmp_path: Path) -> None:
    command, word = FOUND[work]
    file = tmp_path / option[-1]
    if file.suffix:
        file.write_text("mine")
    words = [*command, "--quiet", *json, *option]
    process = _run(words, preexec_fn=full(10), stdout=subprocess.PIPE, cwd=tmp_path)
    assert word in process.stdout
    assert (process.returncode, process.stderr.count("\n")) == (2, 1), process.stderr
    assert not file.suffix or file.read_text() == "mine"
    assert "cannot be written" in process.stderr or "could not be written" in process.stderr


def _run(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    given = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **more}
    return subprocess.run([sys.executable, "-m", "fencepost", *command], text=True, check=False, timeout=300, **given)


def _ended(command: list[str], **streams: Any) -> tuple[int, str]:
    done = _run(command, **streams)
    said = done.stderr or ""
    return done.returncode, said if "unforeseen" in said or "Traceback" in said else ""


def test_what_is_no_file_and_what_cannot_be_replaced_is_written_where_it_is(tmp_path: Path) -> None:
    pipe, real, link = (tmp_path / name for name in ("pipe", "real", "link"))
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "told")
    assert os.read(reading, 10) == b"told"
    os.close(reading)
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "told")
    assert (real.read_text(), real.stat().st_mode & 0o777, link.is_symlink()) == ("told", 0o640, True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", refused)
        write_text(real, "again")
    assert real.read_text() == "again"
    assert sorted(tmp_path.iterdir()) == [link, pipe, real]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system names no open files")
def test_a_trace_that_goes_to_stdout_replaces_no_file(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("earlier\n")
    with out.open("r+") as file:
        file.seek(0, os.SEEK_END)
        assert _ended(words("check kip101 --set replicas=2 --trace /dev/stdout"), stdout=file) == (1, "")
        assert os.fstat(file.fileno()).st_ino == out.stat().st_ino
    assert out.read_text().startswith("earlier\n")
    assert "is violated" in out.read_text()
    assert out.read_text().count("format: 1\n") == 1


def refused(*_: object) -> None:
    raise OSError(errno.EBUSY, "mounted")
