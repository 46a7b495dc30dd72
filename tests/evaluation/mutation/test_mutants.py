"""The changes are made where they are said to be made, and a test that reaches one decides."""

import subprocess
import sys

import pytest

from .merge import merged
from .mutants import code_of, mutants_of

PROGRAM = '''
LIMIT = 3
def enough(values: list[int] | None = None, strict=False):
    """How many 3 are."""
    if not values:
        return False
    return len(values) > LIMIT and values[0] + 1 < 9
'''


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_each_kind_of_change_is_made_once_where_it_fits(program):
    made = [(mutant.line, mutant.kind, mutant.after) for mutant in mutants_of(program)]
    assert (2, "number", "6") in made
    assert (5, "not", "values") in made
    assert (7, "bound", "len(values) >= LIMIT") in made
    assert (7, "comparison", "len(values) <= LIMIT") in made
    assert (7, "arithmetic", "values[0] - 1") in made
    assert (7, "condition left out", "len(values) > LIMIT") in made
    assert (7, "nothing returned", "return None") in made
    assert (3, "boolean", "True") in made
    assert not any("list[int]" in after for _, _, after in made), "annotations are not executed"


def test_a_change_is_compiled_into_the_whole_file(program):
    answers = set()
    for mutant in mutants_of(program):
        names: dict = {}
        exec(code_of(mutant), names)
        answers.add(str([names["enough"](values) for values in ([], [1, 2, 3], [1, 2, 3, 4], [8, 2, 3, 4])]))
    assert len(answers) > 5, "changes give other answers"
    assert "[False, False, True, False]" in answers, "and some give the same ones: a change of a default nobody uses"


def outcomes(path: str, tests: str, wanted: str) -> list[str]:
    """In a process of its own: trials fork, and the tests of this process run on many threads."""
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "import pytest\n"
        "from tests.evaluation.mutation.mutants import mutants_of\n"
        "from tests.evaluation.mutation.trials import Trials\n"
        "path, tests, wanted = sys.argv[1:]\n"
        "mutants = [m for m in mutants_of(Path(path)) if m.kind in ('bound', 'comparison') and wanted in m.before]\n"
        "class All(dict):\n"
        "    def items(self): return [(item.nodeid, 1.0) for item in self.session.items]\n"
        "found = All()\n"
        "class Look:\n"
        "    def pytest_collection_finish(self, session): found.session = session\n"
        "told = lambda mutant, outcome, tests: print('told', mutant.kind, outcome)\n"
        "trials = Trials(mutants, lambda mutant: found, told)\n"
        "pytest.main([tests, '-q', '-s', '-n', '0', '-p', 'no:cacheprovider'], plugins=[trials, Look()])\n"
    )
    command = [sys.executable, "-c", script, path, tests, wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.removeprefix("told ") for line in done.stdout.splitlines() if line.startswith("told ")]


def test_a_change_that_a_test_notices_is_killed_and_another_survives(program):
    (program.parent / "test_program.py").write_text(
        "from program import enough\n"
        "def test_long(): assert enough([1, 2, 3, 4])\n"
        "def test_short(): assert not enough([1])\n"
    )
    told = outcomes(str(program), str(program.parent / "test_program.py"), "len")
    assert told == ["bound survived", "comparison killed"]


def test_a_file_whose_tests_fail_anyway_kills_nothing(program):
    (program.parent / "test_program.py").write_text("from program import enough\ndef test_wrong(): assert enough([])\n")
    told = outcomes(str(program), str(program.parent / "test_program.py"), "len")
    assert told == ["bound fails without any change", "comparison fails without any change"]


def test_a_changed_module_of_the_package_is_what_its_tests_meet():
    told = outcomes(
        "pytest_trainhealth/checks/gradients_flow.py", "tests/checks/test_gradients_flow.py", "broken is not None"
    )
    assert told == ["comparison killed"]


def test_a_module_that_is_imported_only_when_needed_is_changed_too():
    told = outcomes("pytest_trainhealth/causes/outliers.py", "tests/checks/test_gradients_flow.py", ">=")
    assert told == ["bound survived", "comparison survived"], "none of these tests is about it"


def test_test_files_that_are_measured_anew_replace_what_was_known_of_them():
    reach, seconds = {"a.py": {"1": ["t/x.py::old", "t/y.py::kept"]}}, {"t/x.py::old": 1, "t/y.py::kept": 2}
    known = {"reach": reach, "seconds": seconds, "failed": ["t/x.py::old"]}
    latest = {"reach": {"a.py": {"2": ["t/x.py::new"]}}, "seconds": {"t/x.py::new": 3}, "failed": []}
    found = merged(known, latest, ["t/x.py"])
    assert found["reach"] == {"a.py": {"1": ["t/y.py::kept"], "2": ["t/x.py::new"]}}
    assert found["seconds"] == {"t/y.py::kept": 2, "t/x.py::new": 3}
    assert found["failed"] == []
