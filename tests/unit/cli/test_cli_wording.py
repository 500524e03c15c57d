"""The library names parameters as Python does; the command line prints its own options."""

import click
import pytest
from fencepost.cli.main import run
from fencepost.cli.wording import reword

SAME = (
    "give `bound=` to at_most", "`s.leader = 1` is no guard", "`keeps_leader_endpoint=on` breaks it",
    "`name=value` and `x == y`", "`pin=[0, 0]` and `min_isr=[1, 2]`", "max_states=100 without backticks",
    "`fencepost.check(MACHINE` ends early",
)  # fmt: skip
REWORDED = {
    "end it with `max_states=`": "end it with `--max-states`",
    "`resume=True` continues": "`--resume` continues",
    "write `checkpoint=DIR, resume=True`": "write `--checkpoint DIR --resume`",
    "write `normalize=False`": "write `--no-normalize`",
    "`budget=60` is enough": "`--budget 60` is enough",
    "with `min_isr=2`": "with `--set min_isr=2`",
    "with `elr=True` and `only=['weak-isr', 'strong-isr']`": (
        "with `--set elr=on` and `--property weak-isr --property strong-isr`"
    ),
    '`fencepost.replay("x.trace", rewrite=True)` repairs it': "`fencepost replay x.trace --rewrite` repairs it",
    '`fencepost.check("kip320", replicas=2, workers=1)`': "`fencepost check kip320 --set replicas=2 --workers 1`",
    '`fencepost.conform_clients("java", traces=FILE)`': (
        "`fencepost conform leader-discovery --client java --trace FILE`"
    ),
    '`fencepost.list_protocols("kip320")`': "`fencepost list kip320`",
    "`rewrite=` is of another command": "`--rewrite` is of another command",
    "`fencepost.replay(FILE, model=...)`": "`fencepost replay FILE --model ...`",
}


def _of_check(text: str) -> str:
    return reword(text, run.get_command(click.Context(run), "check"), run)


@pytest.mark.parametrize("text", [*REWORDED, *SAME])
def test_parameters_and_calls_are_options_and_commands_and_what_is_none_stays(text: str) -> None:
    assert _of_check(text) == REWORDED.get(text, text)
