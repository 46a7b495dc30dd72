"""Training health as a test suite for PyTorch models.

The flow, in one direction::

    Training --observe--> Trace --checks--> Symptom --causes--> Finding(s) --reports--> text, JSON
                  ^                                    |
                  +-------- cure, from the same start -+

The rooms, from the ground up. No room imports from one further down this list, and a contract test enforces that:

`settings.py`, `wording.py`, `records/`   the table of settings, figures in words, and the records of every result
`progress/`                               how far a check has come, for whoever waits for it
`histories/`                              readers of logs, which make a `History` of a finished run
`analysis/`                               pure functions that read a trace, or a history
`checks/`, `causes/`                      judge a trace, explain a symptom; neither knows the other
`tensors/`, `state/`                      use torch but record nothing
`frameworks/`                             the loops of other libraries, one step at a time
`training.py`                             a `Training` is what users pass in
`observe/`                                a run, and everything that is recorded of it
`interventions/`                          cures and conditions: hooks on a run
`programs/`                               what can be run again from its start
`engine/`                                 judges, confirms, diagnoses, tries cures
`stress/`, `reproducers/`, `revisions/`   build on the engine; none knows the others
`baselines/`, `improvements/`             so do these: runs that were recorded in files, and two trainings compared
`advice/`                                 the same: tries changes on a training, and says what they gain
`examine/`, `api.py`                      the pipeline, and what users call outside pytest
`reports/`                                lay out what the other rooms have found and stated
`plugin/`                                 everything pytest calls; pytest loads `plugin/hooks.py`

The public names below are imported on first use, so that pytest's start-up never imports torch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compare as compare
    from .api import diagnose as diagnose
    from .api import learning_rate_range as learning_rate_range
    from .api import replay as replay
    from .histories.read import history as history
    from .plugin.fixture import TrainHealth as TrainHealth
    from .records.history import History as History
    from .records.improvement import Improvement as Improvement
    from .records.rate_range import RateRange as RateRange
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
    "compare": "api",
    "Improvement": "records.improvement",
    "learning_rate_range": "api",
    "replay": "api",
    "history": "histories.read",
    "History": "records.history",
    "TrainHealth": "plugin.fixture",
    "RateRange": "records.rate_range",
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
    """One of the public names if its module is imported already, else None. Never imports anything itself."""
    module = sys.modules.get(f"{__name__}.{_HOMES[name]}")
    return None if module is None else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
