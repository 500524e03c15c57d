"""Helpers for tests of the command line: commands in this process and in separate ones."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
from click.testing import CliRunner, Result
from fencepost.cli.main import run

SMALL = ["--set", "replicas=2", "--set", "log_size=2", "--set", "max_records=2", "--set", "max_leader_epoch=1"]
KIP320 = ["check", "kip320", *SMALL]
KIP101 = ["check", "kip101", "--set", "replicas=2"]
VARIABLE = {"workers", "seconds", "store_bytes", "peak_memory_bytes", "compiled", "cross_check"}
"""Keys of a result that may differ between runs."""


def fencepost(*args: str) -> Result:
    """Run a command in this process, with the line width of a build log."""
    return CliRunner(env={"COLUMNS": None}).invoke(run, list(args))


def refused(*args: str) -> str:
    found = fencepost(*args)
    assert found.exit_code == 2, found.output
    assert "Traceback" not in found.stderr
    return found.stderr


def data_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def fixed(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in VARIABLE}


def start(*args: str, stdout: int = subprocess.PIPE, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a separate process that receives signals as from a terminal, even under nohup."""
    deaf = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in deaf:
        signal.signal(number, signal.SIG_DFL)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "fencepost", *args], stdout=stdout, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **environment},
        )  # fmt: skip
    finally:
        for number in deaf:
            signal.signal(number, signal.SIG_IGN)


def program(file: Path, text: str) -> None:
    """Write a script of the shell in place of another program."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def wait_for_work(process: subprocess.Popen[str], seconds: float = 2.5) -> None:
    """Wait until a process has used this many processor seconds: starting takes one."""
    end = time.monotonic() + 300
    while psutil.Process(process.pid).cpu_times().user < seconds:
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < end, "it waits"
        time.sleep(0.05)
