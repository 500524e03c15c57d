"""Runs of fetching from followers: cells of the table, and what is judged on request."""

from fencepost.api.asking.targets import Question, source_of
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import protocol
from fencepost.site.tables import every_cell


def test_what_is_judged_on_request_is_compiled_where_it_is_asked_for() -> None:
    found = protocol("follower-reads")
    question = Question(found, found.machine.set_constants({}), found.select(("leaders-know-first", "case-waits")))
    source = source_of(question, Options())
    compiled = {item.name for item in (*source.state_properties, *source.step_properties)}
    assert {"leaders-know-first", "case-waits"} <= compiled


def test_every_cell_says_what_may_happen_and_has_a_history_of_the_worst() -> None:
    cells = every_cell()
    asked = {(cell.version, cell.policy, cell.case, cell.epochs) for cell in cells}
    assert len(asked) == len(cells) == 4 * 3 * 3 + 2 * 3 * 3
    for cell in cells:
        assert list(cell.run.trace) == [f"case-{cell.outcomes[0]}"]
