"""Every tensor of ours says where it lies: a default device is the user's, and may be set by anybody in the process."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from torch.utils._device import _device_constructors

import pytest_trainhealth

PACKAGE = Path(pytest_trainhealth.__file__).parent
#: The functions of torch that ask for the default device.
CONSTRUCTORS = {function.__name__ for function in _device_constructors()}


def without_a_device(source: str) -> list[str]:
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "torch"
        and node.func.attr in CONSTRUCTORS
        and not any(keyword.arg == "device" for keyword in node.keywords)
    ]


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_tensor_is_made_on_the_default_device(file: Path) -> None:
    assert without_a_device(file.read_text()) == []


def test_what_the_test_finds() -> None:
    assert without_a_device("torch.zeros(3)\ntorch.zeros(3, device=x.device)\nx.new_zeros(3)") == [
        "line 1: torch.zeros(3)"
    ]
