"""Training health as a test suite for PyTorch models.

The flow, one way::

    Training --observe--> Trace --checks--> Symptom --causes--> Finding(s) --reports--> text, JSON
                  ^                                    |
                  +-------- cure, from the same start -+

Where things are: `training.py` is what users hand in, `observe/` records it, `checks/` judge the record,
`causes/` explain a symptom, `cures/` are tried on a re-run, `reports/` word the outcome; `examine.py` is the
pipeline and `concluding.py` its last part, `api.py` what users call outside of pytest, `against/` compares with another
revision, `plugin.py` is what pytest loads, `settings.py` the one table of settings, `facts.py`, `trace.py` and
`records/` are the records. The names below are looked up on first use, so that pytest's start-up never imports torch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import diagnose as diagnose
    from .api import replay as replay
    from .facts import Evidence as Evidence
    from .facts import Finding as Finding
    from .facts import Place as Place
    from .facts import Report as Report
    from .facts import Symptom as Symptom
    from .facts import Verdict as Verdict
    from .fixture import TrainHealth as TrainHealth
    from .trace import Trace as Trace
    from .training import Training as Training

__version__ = "0.1.0"

_HOMES = {
    "Training": "training",
    "diagnose": "api",
    "replay": "api",
    "TrainHealth": "fixture",
    "Trace": "trace",
    "Report": "facts",
    "Verdict": "facts",
    "Finding": "facts",
    "Symptom": "facts",
    "Evidence": "facts",
    "Place": "facts",
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
