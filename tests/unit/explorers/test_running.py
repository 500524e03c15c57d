"""Files are whole or absent, folders are locked, and loaded JSON has the shape of its type."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from fencepost.explorers.running import interrupts, sealed
from fencepost.explorers.running.files import lock_folder, remove_leftovers, write_file
from fencepost.model.language.errors import UsageError


def test_a_sealed_file_is_read_as_it_was_written_or_refused() -> None:
    text = sealed.seal({"format": 2, "rows": [1, 2]})
    assert sealed.read_sealed(text, "a.json", 2)["rows"] == [1, 2]
    for other in (text[:-1], text.replace(b"[1", b"[3"), b"[]"):
        with pytest.raises(sealed.DamagedError, match=r"a\.json: this file of the checkpoint is missing or damaged"):
            sealed.read_sealed(other, "a.json", 2)
    with pytest.raises(UsageError, match="has format 2, and this version of Fencepost reads format 3"):
        sealed.read_sealed(text, "a.json", 3)


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
    assert held is not None
    assert lock_folder(tmp_path, patience=0) is None
    with held:
        pass
    first, second = lock_folder(tmp_path, shared=True), lock_folder(tmp_path, shared=True)
    assert first is not None
    assert second is not None
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
    assert len(handlers) == 1
    assert before not in handlers
    assert signal.getsignal(signal.SIGINT) == before
