"""class-imbalance: some classes have far fewer samples than others

What happens
    A model that always gives the common answer is right nearly every time. Its loss falls, its accuracy is 98 %, and
    the class that it was made for is never found. In segmentation the foreground may be a few pixels of a thousand.

How severe it is
    Advice: it may be what the data are, and harms only where rare classes matter.

How it is recognised
    The labels of all samples that were read are counted: the largest class has more than ten times as many as the
    smallest, or a class has less than 1 % of the pixels. That alone does no harm, so it is a note of a test that
    passes. It fails where one of two classes has fewer than 10 samples of 1,000 or more, or less than 0.1 % of the
    pixels, where the loss is one plain call without weights, and no sampler makes up for it; and where, in 80 steps
    that are taken to see, the model tells none of them.

How to fix it
    First look at figures that show it: recall of each class, average precision, overlap instead of accuracy. Then
    weights in the loss (`CrossEntropyLoss(weight=...)`, `pos_weight`), a `WeightedRandomSampler`, or a loss made for it
    (Dice, focal).

What not to do
    Copying the rare samples before the split: the copies end up on both sides (`data-leakage`).

How to prevent it
    Print the counts of classes where the data set is made, and report accuracy for each class, not on average.
    `data_is_healthy` notes it.

When this is wrong
    Where the real world is like that and probabilities are wanted, weights would spoil them. With enough samples of the
    rare class nothing has to be done.
"""

from __future__ import annotations

from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Symptom
from . import Suspicion
from ._groups import DATA
from ._harmful_data import harmful

GROUP = DATA
ORDER = 9
CURABLE = False
EXPLAINS = (FAULTY_DATA,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    return harmful(trace, "rare class")
