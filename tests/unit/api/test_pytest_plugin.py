"""The pytest plugin in its users' suites."""

import inspect
import re
import subprocess
import sys
from functools import partial
from importlib import import_module

import pytest
from fencepost.model.language.errors import ExpectationError, UndeterminedError, UsageError
from fencepost.testing.checks import Search, check
from junitparser import JUnitXml

from tests.helpers.traces import KIP101
from tests.machines import lamps, mailbox

PLAIN = Search(engine="plain")
ALL_LIT = ("some-lamp-is-dark",)
ASK = "an expectation names property 'some-lamp-is-dark', which is not checked: add it to only=. Checked: favourite-is"
SUITE = """
import pytest
from machines import mailbox

def test_mailbox(fencepost):
    result = fencepost.check(mailbox.MACHINE, mailbox.PROPERTIES, clients=1)
    assert result.distinct == 50

def test_careless(fencepost):
    fencepost.check(mailbox.MACHINE, mailbox.PROPERTIES, clients=1, deduplicate=False)

def test_careless_as_expected(fencepost):
    fencepost.check("machines/mailbox.py", version="careless", clients=1, violated={"requests-run-once": 5})
"""


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let suites inside be ordinary ones: not workers of this run, whose stacks of crashes would be lost after them."""
    import_module("hypothesis.core")
    import_module("hypothesis.internal.observability")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:faulthandler")


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    folder = pytester.mkdir("machines")
    (folder / "__init__.py").touch()
    (folder / "mailbox.py").write_text(inspect.getsource(mailbox))
    pytester.makepyfile(test_it=SUITE)
    pytester.syspathinsert()
    return pytester


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    code = "import sys, pytest; old = {*sys.modules}; import fencepost.testing.plugin; print(*{*sys.modules} - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert set(done.stdout.split()) == {"fencepost", "fencepost.testing", "fencepost.testing.plugin"}


def test_a_check_passes_fails_or_expects_a_violation(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("--fencepost-engine", "plain", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*requests-run-once: violated, not holds as expected", "*  1  send client=0",
            "requests-run-once is violated for client=0: 5 states", "*= fencepost =*",
            ("test_it.py::test_careless: mailbox clients=1 *deduplicate=false: "
                "violated; * distinct states, depth * (plain, *)"),
            "test_it.py::test_careless_as_expected: mailbox clients=1 *: violated, as expected; *",
            "test_it.py::test_mailbox: mailbox clients=1 *deduplicate=true: holds; * distinct states, depth *",
        ]
    )  # fmt: skip
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")


@pytest.mark.long
def test_the_summary_and_the_reports_are_the_same_under_xdist(suite: pytest.Pytester) -> None:
    file = suite.path / "report.xml"
    result = suite.runpytest_subprocess("--fencepost-engine", "plain", "-n", "2", "--junitxml", str(file))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*= fencepost =*", "test_it.py::test_careless: *", "test_it.py::test_mailbox: *"])
    found = JUnitXml.fromfile(str(file))
    assert (found.tests or sum(item.tests for item in found)) == 3
    cases = {case.name: case for suites in found for case in suites}
    told = {item.get("name"): item.get("value") for item in cases["test_mailbox"]._elem.iter("property")}
    assert told["fencepost"].startswith("mailbox clients=1")
    [failure] = cases["test_careless"].result
    assert "requests-run-once is violated" in failure.text
    assert cases["test_mailbox"].result == []


def test_a_search_that_does_not_finish_fails_and_says_why(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("--fencepost-engine", "plain", "--fencepost-budget", "0.0001ms", "-k", "mailbox")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*requests-run-once is undetermined: the time budget of *"])


def test_violations_are_written_into_a_folder_and_collected_from_there(suite: pytest.Pytester) -> None:
    options = ("--fencepost-engine", "plain", "-p", "no:cacheprovider")
    suite.runpytest_inprocess(*options, "--fencepost-trace-dir", "found").assert_outcomes(passed=2, failed=1)
    [file] = (suite.path / "found").iterdir()
    assert file.name == "test_it.py-test_careless.trace"
    model = ("--fencepost-model", "machines/mailbox.py")
    for how in (("found", "--fencepost-traces"), (str(file),)):
        result = suite.runpytest_inprocess(*how, *model, "-v", "-p", "no:cacheprovider")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            ["found/test_it.py-test_careless.trace::replay PASSED*", "*a trace of 5 states, as recorded in the file"]
        )
    suite.runpytest_inprocess("found", "-p", "no:cacheprovider").assert_outcomes()
    lacking = suite.runpytest_inprocess(str(file), "-p", "no:cacheprovider")
    lacking.assert_outcomes(failed=1)
    lacking.stdout.fnmatch_lines(["*For your own protocol, write --fencepost-model FILE.py."])


def test_the_fixture_replays_files(pytester: pytest.Pytester) -> None:
    (pytester.path / "good.trace").write_text(KIP101)
    pytester.makepyfile(
        """
        def test_good(fencepost):
            assert fencepost.replay("good.trace").path.length == 12

        def test_missing(fencepost):
            fencepost.replay("missing.trace")
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*missing.trace: the file does not exist.*"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fencepost-engine", "nativ"), "*there is no engine 'nativ'. Did you mean 'native'?*"),
        (("--fencepost-budget", "soon"), "*--fencepost-budget 'soon' is not a duration*"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_any_test(
    options: tuple[str, ...], message: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile("def test_nothing():\n    pass\n")
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_check_needs_no_pytest() -> None:
    broken = ("some-lamp-is-dark", "lit-lamps-stay")
    ask = partial(check, lamps.MACHINE, lamps.PROPERTIES, search=PLAIN, lamps=2)
    assert ask(violated=broken).verdict == "violated"
    with pytest.raises(ExpectationError, match="some-lamp-is-dark: the shortest trace has 2 states, not 3 as expected"):
        ask(violated=dict.fromkeys(broken, 3))
    with pytest.raises(ExpectationError, match="favourite-is-lit: holds, not unreached as expected"):
        ask(violated=broken, unreached=("favourite-is-lit",))
    with pytest.raises(UndeterminedError, match="favourite-is-lit is undetermined: "):
        check(lamps.MACHINE, lamps.PROPERTIES, only=("favourite-is-lit",), search=Search("plain", max_states=5))


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        ((lamps.MACHINE,), {}, "check('lamps') has no properties to check: write check(MACHINE, PROPERTIES)."),
        (("kip320", lamps.PROPERTIES), {}, "check() has properties but no machine"),
        ((3,), {}, "expected a machine, the name of a protocol or the path of its file, not the int 3."),
        (("kip320",), {"violated": ("weak-is",)}, "protocol 'kip320' has no property 'weak-is'. Did you mean"),
        *(
            ((lamps.MACHINE, lamps.PROPERTIES), {"only": ("favourite-is-lit",), "search": PLAIN, expects: ALL_LIT}, ASK)
            for expects in ("violated", "unreached")
        ),
    ],
)
def test_what_does_not_exist_or_is_expected_but_not_asked_is_refused(
    what: tuple[object, ...], given: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        check(*what, **given)
