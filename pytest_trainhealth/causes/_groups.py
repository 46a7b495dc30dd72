"""What causes are about, and when they are considered: two questions, whose answers mostly go together.

A *group* is for readers: the tables of the README and of the docs have one row or one section for each. A *stage* is
for the diagnosis. A cause names its group, which brings its stage along; where the two part, it names its stage too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Stage(Enum):
    """When a cause is considered: structure first, then numbers, learning rates last.

    Another learning rate "cures" half of all faults a little, so rates are considered only after everything else, and
    only by checks that are about them. Structure (wiring, losses, data) is either right or wrong and shows it plainly:
    a structural cause that is merely likely is reason enough not to blame a rate. Numbers lie between the two: they are
    considered before rates, but one that is merely likely acquits no rate.
    """

    STRUCTURE = auto()
    NUMBERS = auto()
    RATES = auto()
    #: Apart from the others: these causes explain slow steps and growing memory alone, which none of the others does.
    KEEPS_THROUGHPUT = auto()

    @property
    def first_rank(self) -> int:
        """Where its causes begin in the order of all."""
        return _FIRST_RANKS[self]


#: Room for twenty causes each; the order of those about speed does not affect the others.
_FIRST_RANKS = {Stage.STRUCTURE: 0, Stage.NUMBERS: 20, Stage.RATES: 40, Stage.KEEPS_THROUGHPUT: 0}


@dataclass(frozen=True)
class Group:
    """Causes that are about the same thing."""

    name: str
    title: str
    #: When its causes are considered, unless one of them says otherwise.
    stage: Stage


WIRING = Group("wiring", "Wiring and loop", Stage.STRUCTURE)
LOSS = Group("loss", "Loss", Stage.STRUCTURE)
DATA = Group("data", "Inputs and data", Stage.STRUCTURE)
NUMBERS = Group("numbers", "Numbers", Stage.NUMBERS)
KEEPS_THROUGHPUT = Group("speed", "Speed and memory, with `keeps_throughput`", Stage.KEEPS_THROUGHPUT)
STATE = Group("state", "State, with `is_reproducible`, `resumes_exactly` and the like", Stage.STRUCTURE)
RANKS = Group("ranks", "Several processes, with `ranks_agree`", Stage.STRUCTURE)
FIT = Group("fit", "Training against validation, with `history_is_healthy`", Stage.STRUCTURE)
RATES = Group("rates", "Rates, last of all", Stage.RATES)

#: As the tables list them.
GROUPS = (WIRING, LOSS, DATA, NUMBERS, STATE, RANKS, FIT, KEEPS_THROUGHPUT, RATES)
