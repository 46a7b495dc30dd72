"""The fault corpus: small realistic trainings with one known fault each, and the same training without it.

One file per family. A program is a function of one argument, `broken`: called with True it returns (or, when it is
to be watched, runs) the faulty training, with False its healthy twin, which differs in the fault alone. It seeds
nothing (whoever calls it does) and builds its data itself.
`python -m tests.evaluation.corpus.faults [NAME ...]` shows what we say about each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

FAMILIES = (
    *("mlp", "cnn", "rnn", "transformer", "language_model", "vae", "gan", "gnn", "diffusion", "siamese"),
    *("segmentation", "regression", "multilabel", "rl", "finetuning", "tabular"),
)


@dataclass(frozen=True)
class Fault:
    """One program with what is wrong with it."""

    name: str
    #: The root cause. Where two faults were put in, the second stands in `second`.
    cause: str
    family: str
    make: Callable[[bool], Any]
    second: str = ""
    #: Names that say the same of this program, each with good reason (which the program's docstring gives).
    also: tuple[str, ...] = ()
    #: The loss still falls: who looks at the curve alone sees nothing.
    hard: bool = False
    #: The operation that makes the first NaN or Inf, as torch calls it ("log", "sqrt (backward)"). Its line in the
    #: program ends with the comment `# guilty`.
    operation: str = ""
    #: The checks that are to find it, where the battery is not asked to.
    checks: tuple[str, ...] = ()

    def broken(self) -> Any:
        return self.make(True)

    def twin(self) -> Any:
        return self.make(False)


_FOUND: dict[str, Fault] = {}


def fault(
    cause: str,
    *,
    second: str = "",
    also: tuple[str, ...] = (),
    hard: bool = False,
    operation: str = "",
    checks: tuple[str, ...] = (),
) -> Callable[[Callable[[bool], Any]], Callable[[bool], Any]]:
    """Registers a program under the name of its function; its family is the name of its file."""

    def register(make: Callable[[bool], Any]) -> Callable[[bool], Any]:
        name, family = make.__name__, make.__module__.rpartition(".")[2].split("__")[0]
        if name in _FOUND:
            raise ValueError(f"two faulty programs are called {name!r}")
        if family not in FAMILIES:
            raise ValueError(f"{family!r} is no family: {', '.join(FAMILIES)}")
        _FOUND[name] = Fault(name, cause, family, make, second, also, hard, operation, checks)
        return make

    return register


def faults() -> dict[str, Fault]:
    """All programs by name, in the order of the files and of the functions in them."""
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            import_module(f"{__name__}.{module.name}")
    return dict(_FOUND)
