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
    that are taken to see, the model tells none of them. Or where `val_data` says what the model is for: a class is at
    most 2 % of `data` and at least 10 % of `val_data`, ten times its share, and in the re-run, whose loss weighs
    classes so that they count as in `val_data`, so many more answers are right there as half of it has, or what ended
    far worse than a guess no longer does.

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

from .. import wording
from ..analysis.class_shares import short_class
from ..records.intervention import Cure
from ..records.symptoms import FAULTY_DATA, OVERFITTING
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA
from ._harmful_data import harmful

GROUP = DATA
ORDER = 9
CURABLE = False
EXPLAINS = (FAULTY_DATA, OVERFITTING)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    if symptom.category == FAULTY_DATA:
        return harmful(trace, "rare class")
    found = short_class(trace.data.survey)
    if found is None:
        return None
    return Suspicion(
        statement=f"class {found.label} hardly comes in data, and often in val_data",
        evidence=(
            Evidence(
                f"class {found.label} of batch{found.classes.name} has {wording.count(found.count)} of "
                f"{wording.count(found.total)} samples in data, and {wording.count(found.val_count)} of "
                f"{wording.count(found.val_total)} in val_data",
                found.share,
            ),
            Evidence("the loss has no weights, and nothing draws them more often"),
        ),
        why="a loss that counts every label alike learns how often each class comes, and val_data says otherwise",
        fix=Fix(
            "weigh classes in the loss by their share where the model is used, or draw rare ones more often:",
            (
                "nn.CrossEntropyLoss(weight=...)",
                "nn.BCEWithLogitsLoss(pos_weight=...)",
                "WeightedRandomSampler(...)",
            ),
        ),
        not_this="more epochs, or a larger model: the loss gains next to nothing by this class",
        cures=(Cure("weighed_classes", "classes weighed as in val_data", {"weights": found.weights}),),
    )
