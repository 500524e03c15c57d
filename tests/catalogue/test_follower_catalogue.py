"""Runs of fetching from followers: cells of the table, and properties judged on request."""

from fencepost.site.tables import every_cell


def test_every_cell_says_what_may_happen_and_has_a_history_of_the_worst() -> None:
    cells = every_cell()
    asked = {(cell.version, cell.policy, cell.case, cell.epochs) for cell in cells}
    assert len(asked) == len(cells) == 4 * 3 * 3 + 2 * 3 * 3
    for cell in cells:
        assert list(cell.run.trace) == [f"case-{cell.outcomes[0]}"]
