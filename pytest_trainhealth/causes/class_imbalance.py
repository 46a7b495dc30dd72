"""class-imbalance: some classes have far fewer samples than others

What happens
    A model that always gives the common answer is right nearly every time. Its loss falls, its accuracy is 98 %, and
    the class that it was made for is never found. In segmentation the foreground may be a few pixels of a thousand.

How severe it is
    Advice: it may be what the data are, and harms only where rare classes matter.

How it is recognised
    The labels of all samples that were read are counted: the largest class has more than ten times as many as the
    smallest, or a class has less than 1 % of the pixels. That alone does no harm, so it is a note of a test that
    passes, and never a failure.

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
from ._groups import DATA

GROUP = DATA
ORDER = 9
ADVICE = True
EXPLAINS = (FAULTY_DATA,)
