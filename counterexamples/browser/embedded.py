"""Explore from here: a piece of a trace's page with the states within two steps of its history."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.counterexamples.browser.book import Book
from fencepost.counterexamples.browser.setting import of_trace

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.interpreter import Path as History

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("book.js", "past.js", "render.js", "embedded.js")
MOST = 2_500_000
"""Characters of states; with what else there is, a page stays below 3 MB."""
MODULE = re.compile(r"^import .*;\n|^export ", re.MULTILINE)
"""The marks of a module, which has no place inside a page."""


def section(trace: Trace, path: History) -> str:
    """Return the piece, with its style and script; it stands where the page of the trace ends."""
    setting = of_trace(trace)
    book = Book(setting, MOST)
    steps = [setting.plain.show(step) for step in path.steps]
    book.history(path.start, steps)
    data = (
        json.dumps({**book.data(), "steps": steps}, separators=(",", ":"))
        .replace("</", "<\\/")
        .replace("<!", "\\u003c!")
    )
    style = (STATIC / "explore.css").read_text(encoding="utf-8")
    script = "\n".join(MODULE.sub("", (STATIC / name).read_text(encoding="utf-8")) for name in SCRIPTS)
    ends = sum(state["ends"] for state in book.states)
    told = f"{len(book.states)} states are in this file; at {ends} of them it ends."
    return f"""<style>
{style}</style>
<section id="explore" aria-labelledby="explore-heading">
<h2 id="explore-heading">Try something else</h2>
<p><button type="button" id="explore-from" hidden>Explore from here</button>
<span class="quiet">{escape(told)}</span></p>
<div id="explore-box" hidden>
<div class="controls"><button type="button" id="explore-undo">← Undo</button>
<button type="button" id="explore-redo">Redo →</button>
<span id="explore-where" aria-live="polite"></span></div>
<div class="columns">
<div class="cards-of"><h2 id="explore-title" tabindex="-1">State</h2><div id="explore-shown"></div>
<label class="quiet"><input type="checkbox" class="every"> Show every field, also those at their default</label></div>
<div class="side"><h2>What can happen now</h2><div id="explore-enabled"></div>
<h2>What cannot, and why</h2><div id="explore-refused"></div>
<h2>Properties in this state</h2><div id="explore-properties"></div></div>
</div>
</div>
</section>
<script>
(() => {{
{script}
explore({data});
}})();
</script>
"""


def framed(page: str) -> str:
    """Return a page as a piece of a notebook, in a frame of its own."""
    return f'<iframe title="Explorer" srcdoc="{escape(page)}" style="width: 100%; height: 46rem; border: 0"></iframe>'
