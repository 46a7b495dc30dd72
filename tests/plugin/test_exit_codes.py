"""The table of docs/how-to/in-ci.md, row by row."""

from __future__ import annotations

import pytest

from .conftest import Project

TEST = """
    import pytest
    from pytest_trainhealth import Training

    @pytest.mark.{marker}
    def test_it():
        return Training({outcome})
"""


@pytest.mark.parametrize(
    ("marker", "outcome", "options", "code"),
    [
        ("gradients_flow", "", (), 0),
        ("gradients_flow", "gradients_flow='could not judge'", (), 0),
        ("gradients_flow", "gradients_flow='could not judge'", ("--trainhealth-strict",), 1),
        ("gradients_flow", "gradients_flow='failed'", (), 1),
        ("gradients_flow", "gradients_flow='interrupt'", (), 2),
        ("gradient_flow", "", (), 2),
        ("gradients_flow", "", ("--trainhealth-seed=-1",), 4),
        ("gradients_flow", "", ("--trainhealth-json=no/such.py",), 4),
        ("gradients_flow", "", ("-k", "nothing"), 5),
    ],
)
def test_exit_code(project: Project, marker: str, outcome: str, options: tuple[str, ...], code: int) -> None:
    project.makepyfile(TEST.format(marker=marker, outcome=outcome))
    result = project.runpytest("--trainhealth", *options, no_reraise_ctrlc=True)
    assert result.ret == code
