"""`tox -e bench`: measures the costs we set limits on, as ratios within one run."""

from __future__ import annotations

import sys
import warnings
from functools import partial

import torch

from .models import MODELS
from .observing import cost, observed, under_anomaly_detection
from .startup import added_milliseconds

CHECKS = ("overfits_one_batch", "gradients_flow", "trains_without_nan")
#: The most that an observed step may take, in bare steps: one of `_LONG` milliseconds and more, and a shorter one.
MOST_COST, MOST_COST_OF_SHORT, _LONG = 1.05, 1.10, 2.0
#: The most milliseconds that start-up may take.
MOST_STARTUP = 10.0


def most_cost(milliseconds: float) -> float:
    return MOST_COST if milliseconds >= _LONG else MOST_COST_OF_SHORT


def main() -> int:
    torch.set_num_threads(1)
    failed = False
    limits = f"at most {MOST_COST}, below {_LONG:g} ms {MOST_COST_OF_SHORT}"
    print(f"{'model':<12} {'bare step':>10}  {'check':<20} observed / bare ({limits})")
    warnings.filterwarnings("ignore", message="Anomaly Detection has been enabled")
    for name, make in MODELS.items():
        ratios, step = cost(make, *(partial(observed, check=check) for check in CHECKS), under_anomaly_detection)
        failed = failed or max(ratios[:-1]) > most_cost(step)
        for check, ratio in zip((*CHECKS, "(detect_anomaly)"), ratios, strict=True):
            too_much = check in CHECKS and ratio > most_cost(step)
            print(f"{name:<12} {step:>7.2f} ms  {check:<20} {ratio:.3f}{'  TOO MUCH' if too_much else ''}", flush=True)
    added, alone = added_milliseconds()
    failed = failed or added > MOST_STARTUP
    print(f"start-up     {alone:>7.0f} ms  with the plugin: {added:+.1f} ms (at most {MOST_STARTUP:g} ms more)")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
