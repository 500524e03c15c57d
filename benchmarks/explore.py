"""Measurement of the explorer in a browser, over a local server: `python -m benchmarks.explore` (needs Chromium and
playwright). It writes invariants/figures/explore.json.
"""

import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from fencepost.counterexamples.browser.page import write
from fencepost.counterexamples.browser.serving import HOST, server
from fencepost.invariants.figures.store import save
from playwright.sync_api import sync_playwright
from rich.console import Console

from tests.browser.browser import BROWSER

CLICKS = 60
TRACE = "replication-hyp-1-loss"
READY = "document.querySelector('#engine').textContent.includes('ready')"
CLICK = """async number => {
  const steps = [...document.querySelectorAll("#enabled button.step")];
  const where = document.querySelector("#where"), was = where.textContent;
  const began = performance.now();
  if (steps.length) steps[number * 7 % steps.length].click();
  else document.querySelector("#start").click();
  while (where.textContent === was && performance.now() - began < 5000) await new Promise(next => setTimeout(next, 0));
  return performance.now() - began;
}"""
CONSOLE = Console(width=120, highlight=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        began = time.perf_counter()
        write(folder)
        written = time.perf_counter() - began
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        with server(folder) as made:
            threading.Thread(target=made.serve_forever, daemon=True).start()
            rows = [
                _row("the page is written", f"{written:.1f} s", ""),
                _row("its size, with Pyodide", f"{size / 1e6:.0f} MB", "60 MB"),
                *_looked_at(f"http://{HOST}:{made.server_port}/"),
            ]
            made.shutdown()
    save("explore", {"rows": rows})


def _row(what: str, measured: str, wanted: str) -> dict[str, str]:
    CONSOLE.print(f"{what}: {measured} (goal: {wanted or 'none'})")
    return {"what": what, "measured": measured, "wanted": wanted}


def _looked_at(address: str) -> list[dict[str, str]]:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_context().new_page()
        began = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("#shown .card")
        shown = time.perf_counter() - began
        first = page.evaluate(CLICK, 0)
        page.wait_for_function(READY, timeout=60_000)
        ready = time.perf_counter() - began
        page.wait_for_timeout(2000)  # meanwhile, the archived traces are read once
        clicks = sorted(page.evaluate(CLICK, number) for number in range(1, CLICKS + 1))
        found = [
            _row("the first state is shown", f"{shown:.2f} s", "1 s"),
            _row("the first click is answered", f"{first / 1000:.2f} s", "1 s"),
            _row("the engine is ready", f"{ready:.1f} s", "8 s"),
            _row("a click on replication with 3 brokers, median", f"{statistics.median(clicks):.0f} ms", "100 ms"),
            _row("the same, 95th percentile", f"{clicks[int(len(clicks) * 0.95)]:.0f} ms", "100 ms"),
            _row("an archived trace of 13 steps is opened", f"{_trace(page):.2f} s", ""),
        ]
        browser.close()
    return found


def _trace(page: Any) -> float:
    began = time.perf_counter()
    page.evaluate(f"location.hash = '#trace={TRACE}&at=99'")
    page.wait_for_selector("#finding")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
