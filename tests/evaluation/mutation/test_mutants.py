"""The changes are made where they are said to be made, and a test that reaches one decides."""

import subprocess
import sys

import pytest

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


def test_a_change_that_a_test_notices_is_killed_and_another_survives(program):
    # In a process of its own: the trial forks, and the tests of this process run on many threads.
    (program.parent / "test_program.py").write_text(
        "from program import enough\n"
        "def test_long(): assert enough([1, 2, 3, 4])\n"
        "def test_short(): assert not enough([1])\n"
    )
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.evaluation.mutation.mutants import mutants_of\n"
        "from tests.evaluation.mutation.trial import survives\n"
        "for mutant in mutants_of(Path(sys.argv[1])):\n"
        "    if mutant.kind in ('bound', 'comparison') and 'len' in mutant.before:\n"
        "        print(mutant.kind, survives(mutant, [sys.argv[2]], 1.0))\n"
    )
    tests = str(program.parent / "test_program.py")
    done = subprocess.run(
        [sys.executable, "-c", script, str(program), tests], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["bound True", "comparison False"]


def test_a_changed_module_of_the_package_is_what_its_tests_meet():
    # pytest rewrites the assertions of plugins, and so reads their files itself unless told otherwise.
    script = (
        "from pathlib import Path\n"
        "from tests.evaluation.mutation.mutants import mutants_of\n"
        "from tests.evaluation.mutation.trial import survives\n"
        "path = Path('pytest_trainhealth/checks/gradients_flow.py')\n"
        "first = next(m for m in mutants_of(path) if m.before == 'broken is not None' and m.kind == 'comparison')\n"
        "print(survives(first, ['tests/checks/test_gradients_flow.py'], 2.0))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
