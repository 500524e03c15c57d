"""Threads that make syntax trees at the same time do not disturb each other."""

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from fencepost.model.language.trees import code_of, expression_of, module_of

TEXT = "\n".join(f"def f{number}(a):\n    return [a + {number}, (a * 2, [a])]" for number in range(60))


@pytest.fixture
def eager() -> Iterator[None]:
    """Let threads change often, also while a tree is made: whenever memory is tidied up, Python code runs."""
    often, least = sys.getswitchinterval(), gc.get_threshold()

    def tidied(*_: object) -> None:
        sum(range(200))

    gc.callbacks.append(tidied)
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*least)
    sys.setswitchinterval(often)
    gc.callbacks.remove(tidied)


@pytest.mark.long
@pytest.mark.usefixtures("eager")
def test_threads_make_and_compile_trees_at_the_same_time() -> None:
    def work(_: int) -> int:
        made = [(module_of(TEXT), code_of(expression_of("[1, (2, [3])][0]"), "<text>")) for _ in range(5)]
        return sum(len(tree.body) + eval(code) for tree, code in made)  # noqa: S307 (our own text)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(20))) == [305] * 20
