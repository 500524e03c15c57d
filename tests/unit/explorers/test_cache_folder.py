"""Files are whole or absent, folders are locked, and other users' files are never executed."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from fencepost.explorers.running import cache, interrupts
from fencepost.explorers.running.files import lock_folder, remove_leftovers, write_file
from fencepost.model.language.errors import UsageError

STRANGER = 54321
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to another user")
FIND = "from fencepost.explorers.running.cache import cache_folder; print(cache_folder())"


@pytest.fixture(autouse=True)
def no_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_temporary", [])
    monkeypatch.delenv("FENCEPOST_CACHE", raising=False)


def named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    monkeypatch.setenv("FENCEPOST_CACHE", str(folder))
    return cache.cache_folder()


def mode(folder: Path) -> int:
    return folder.stat().st_mode & 0o7777


def made(folder: Path, bits: int) -> Path:
    folder.mkdir()
    folder.chmod(bits)
    return folder


@pytest.fixture
def exposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(made(tmp_path / "open", 0o777)))
    return tmp_path / "open"


def asked_elsewhere(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Ask a separate process for the folder; its temporary folders are in `tmp_path`."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FENCEPOST_CACHE", "XDG_CACHE_HOME")}
    return subprocess.run(
        [sys.executable, "-c", FIND],
        env=kept | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip


def test_a_missing_folder_is_made_for_this_user_alone_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0)
    try:
        folder = named(monkeypatch, tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert folder == (tmp_path / "a" / "b").resolve()
    assert [mode(folder), mode(folder.parent)] == [0o700, 0o700]


def test_in_a_folder_that_others_can_read_a_private_one_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "mine", 0o755)
    folder = named(monkeypatch, tmp_path / "mine")
    assert folder == (tmp_path / "mine/private").resolve()
    assert [mode(folder), mode(tmp_path / "mine")] == [0o700, 0o755]
    assert named(monkeypatch, tmp_path / "mine") == folder
    folder.chmod(0o755)
    with pytest.raises(UsageError, match="is accessible to other users"):
        named(monkeypatch, tmp_path / "mine")


@pytest.mark.parametrize(
    ("inside", "bits"),
    [*((".", bits) for bits in (0o770, 0o702, 0o777, 0o1777)), ("mine/cache", 0o770), ("mine/cache", 0o777)],
)
def test_a_folder_that_others_can_write_or_one_in_it_is_refused_and_not_made(
    inside: str, bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "open", bits)
    with pytest.raises(UsageError, match="other users can write to"):
        named(monkeypatch, tmp_path / "open" / inside)
    assert not list((tmp_path / "open").iterdir())


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_file_is_no_folder_for_the_cache(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a folder"):
        named(monkeypatch, tmp_path / place)


@as_root
def test_a_folder_or_a_link_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, private, link = (tmp_path / name for name in ("theirs", "mine/private", "link"))
    theirs.mkdir(0o700)
    private.mkdir(0o700, parents=True)
    private.parent.chmod(0o755)
    link.symlink_to(tmp_path / "mine")
    for path in (theirs, private, link):
        os.chown(path, STRANGER, -1, follow_symlinks=False)
    for asked, said in (
        *((theirs / below, f"theirs belongs to another user .{STRANGER}") for below in ("", "cache", "a/b")),
        (tmp_path / "mine", "private belongs to another user"),
        (link, "link is a symbolic link"),
    ):
        with pytest.raises(UsageError, match=said):
            named(monkeypatch, asked)


def test_without_any_safe_folder_nothing_is_compiled(exposed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(exposed))
    with pytest.raises(UsageError, match="there is no safe folder"):
        cache.cache_folder()


def test_a_link_is_followed_only_if_nobody_else_could_put_it_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "link").symlink_to("real")
    assert named(monkeypatch, tmp_path / "link" / "cache") == (tmp_path / "real/cache").resolve()
    made(tmp_path / "sticky", 0o1777)
    assert mode(named(monkeypatch, tmp_path / "sticky" / "mine")) == 0o700, "a sticky folder may stand above"
    (tmp_path / "sticky" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "round").symlink_to("round")
    for place, said in (("sticky/link", "symbolic link in a folder that other users"), ("round", "consecutive symb")):
        with pytest.raises(UsageError, match=said):
            named(monkeypatch, tmp_path / place)


def test_an_unnamed_cache_that_cannot_be_trusted_is_replaced_by_a_private_folder_for_one_run(exposed: Path) -> None:
    planted = exposed.parent / f"fencepost-{os.getuid()}"
    planted.mkdir()
    ran = asked_elsewhere(exposed.parent, XDG_CACHE_HOME=str(exposed))
    folder = Path(ran.stdout.strip())
    assert folder.parent == exposed.parent.resolve()
    assert folder != planted
    assert not folder.exists()
    assert ran.stderr.count("note: the cache cannot be used: other users can write to") == 1


def test_a_read_only_folder_is_refused_if_named_and_replaced_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = named(monkeypatch, tmp_path / "fencepost")
    may = os.access
    denied = lambda path, wanted: Path(path) == folder and wanted & os.W_OK  # noqa: E731 (a condition)
    monkeypatch.setattr(os, "access", lambda path, wanted: may(path, wanted) and not denied(path, wanted))
    with pytest.raises(UsageError, match="fencepost is not writable"):
        named(monkeypatch, folder)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FENCEPOST_CACHE", "")
    found = cache.cache_folder()
    assert (found != folder, mode(found)) == (True, 0o700)
    assert capsys.readouterr().err == (
        f"note: the cache cannot be used: {folder} is not writable. Code compiled in this run is not kept; "
        "FENCEPOST_CACHE=FOLDER names another folder.\n"
    )


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    write_file(file, b"one")
    write_file(file, b"two", lasting=False, mode=0o600)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"two", 0o600)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_file(file, b"three")
    assert file.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [file]


def test_only_what_was_written_aside_is_a_leftover(tmp_path: Path) -> None:
    (tmp_path / f".{'0a' * 16}.new").touch()
    (tmp_path / ".mine.new").touch()
    remove_leftovers(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == [".mine.new"]


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path) -> None:
    assert lock_folder(tmp_path / "missing") is None
    held = lock_folder(tmp_path, patience=0)
    assert lock_folder(tmp_path, patience=0) is None
    with held:
        pass
    first, second = lock_folder(tmp_path, shared=True), lock_folder(tmp_path, shared=True)
    assert None not in (first, second)
    assert lock_folder(tmp_path, patience=0) is None


def test_a_cancel_that_comes_as_the_work_ends_interrupts_nothing_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    enough, sends, handlers, before = threading.Event(), threading.Event(), [], signal.getsignal(signal.SIGINT)

    def slowly(number: int) -> None:
        sends.set()
        time.sleep(0.1)
        handlers.append(signal.getsignal(number))

    monkeypatch.setattr(interrupts, "_send", slowly)
    with interrupts.cancelled_by(enough.is_set), interrupts.interruptible():
        enough.set()
        assert sends.wait(60)
    assert (len(handlers), before in handlers) == (1, False)
    assert signal.getsignal(signal.SIGINT) == before
