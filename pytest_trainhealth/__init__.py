"""Training health as a test suite for PyTorch models.

The flow, one way::

    Training --observe--> Trace --checks--> Symptom --causes--> Finding(s) --reports--> text, JSON
                  ^                                    |
                  +-------- cure, from the same start -+

The rooms, from the ground up; none imports from one below it in this list, and a contract test holds them to it:

`settings.py`, `wording.py`, `records/`   one table of settings, figures as words, what everything is written down in
`analysis/`                               pure readings of a trace
`checks/`, `causes/`                      a trace is judged, a symptom explained; neither knows the other
`tensors/`, `state/`, `training.py`       torch, but nothing recorded yet; `Training` is what users hand in
`observe/`                                a run and all that is recorded of it
`interventions/`                          cures and conditions: hooks on a run
`programs/`                               what can be run again from its start
`engine/`                                 judges, confirms, diagnoses, tries cures
`stress/`, `reproducers/`, `compare/`     on top of the engine; none knows the others
`examine.py`, `api.py`                    the pipeline, and what users call outside of pytest
`reports/`                                lay out what others have found and stated
`plugin/`                                 pytest's side; `plugin/hooks.py` is what pytest loads

The names below are looked up on first use, so that pytest's start-up never imports torch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import diagnose as diagnose
    from .api import replay as replay
    from .plugin.fixture import TrainHealth as TrainHealth
    from .records.trace import Trace as Trace
    from .records.verdict import Evidence as Evidence
    from .records.verdict import Finding as Finding
    from .records.verdict import Place as Place
    from .records.verdict import Report as Report
    from .records.verdict import Symptom as Symptom
    from .records.verdict import Verdict as Verdict
    from .training import Training as Training

__version__ = "0.1.0"

_HOMES = {
    "Training": "training",
    "diagnose": "api",
    "replay": "api",
    "TrainHealth": "plugin.fixture",
    "Trace": "records.trace",
    "Report": "records.verdict",
    "Verdict": "records.verdict",
    "Finding": "records.verdict",
    "Symptom": "records.verdict",
    "Evidence": "records.verdict",
    "Place": "records.verdict",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def if_imported(name: str) -> Any:
    """One of the names above where its module was imported already, and None otherwise: to ask costs no import."""
    module = sys.modules.get(f"{__name__}.{_HOMES[name]}")
    return None if module is None else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
