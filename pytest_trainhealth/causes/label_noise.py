"""label-noise: a part of the labels is wrong

What happens
    A model first learns what most labels say and then memorises the rest, one by one. Training goes on to improve while
    validation gets worse, and no model can be better than its labels.

How severe it is
    Advice: it limits what can be reached, and training longer makes it worse.

How it is recognised
    Of up to 1,024 samples, each is compared with its ten nearest neighbours, itself left out. Where eight or more of
    them agree, a label that differs from theirs is counted. The share of these is an estimate of the noise, given with
    two standard errors; that alone is a note of a test that passes, as classes may overlap. `val_data` tell more: what
    was learnt from the labels of `data`, by ridge regression, is tried on both sets, in `data` with each sample left
    out. Equally good labels are told equally well. Where those of `data` are told so much worse that more than 15 %
    of them have to be wrong, whatever the errors, it fails. Where nothing can be learnt from labels as noisy as that,
    it is done the other way round: `val_data` tell nine tenths of their own labels, and more than a quarter of those of
    `data` have to be wrong. Of texts it counts the tokens of each.

How to fix it
    Look at the samples that differ most from their neighbours, or whose loss stays highest: most wrong labels are among
    them. Where they cannot be corrected: label smoothing, early stopping, a loss that tolerates them.

What not to do
    Dropping all samples with a high loss: those are the rare and the hard ones, too.

How to prevent it
    Have a part labelled twice, and look at the samples with the highest loss before each release. `data_is_healthy`
    estimates the share.

When this is wrong
    Distances between raw values say little about images and texts, and then neighbours rarely agree and nothing is
    said. Exceptions are not errors: a rare class inside of a common one looks like noise. Weak labels that are meant to
    be used are reported when more than 15 % of them is wrong. Where the inputs of both sets differ, as with
    augmentation, they are not compared.
"""

from __future__ import annotations

from .. import wording
from ..analysis import told_labels
from ..records.survey import HeldOutLabels
from ..records.symptoms import FAULTY_DATA
from ..records.trace import Trace
from ..records.verdict import Evidence, Fix, Symptom
from . import Suspicion
from ._groups import DATA

GROUP = DATA
ORDER = 19
CURABLE = False
EXPLAINS = (FAULTY_DATA,)


def look(trace: Trace, symptom: Symptom) -> Suspicion | None:
    found = None if trace.data.survey is None else told_labels.wrong_labels(trace.data.survey)
    if found is None:
        return None
    share, give = wording.share(found.share), wording.share(found.uncertainty)
    return Suspicion(
        statement=f"about {share} of the labels of data are wrong, give or take {give}",
        evidence=_by_val(found.held) if found.by_val else _by_data(found.held),
        why="inputs of both sets are alike, so right labels would be told equally well in both",
        fix=Fix("look at the samples whose loss stays highest, and label them anew"),
        not_this="a larger model or more epochs: it learns the wrong labels by heart",
    )


def _by_data(held: HeldOutLabels) -> tuple[Evidence, ...]:
    return (
        Evidence(
            f"learnt from {wording.count(held.samples)} samples of data, {wording.share(held.val_told)} of "
            f"{wording.count(held.val_samples)} labels of val_data are told right",
            held.val_told,
        ),
        Evidence(
            f"of the labels of data themselves {wording.share(held.predicted)}, each sample left out in turn (by "
            f"chance {wording.share(held.chance)})",
            held.predicted,
        ),
    )


def _by_val(held: HeldOutLabels) -> tuple[Evidence, ...]:
    by_val = held.told_by_val or 0.0
    return (
        Evidence(
            f"learnt from {wording.count(held.val_samples)} samples of val_data, {wording.share(by_val)} of "
            f"{wording.count(held.samples)} labels of data are told right",
            by_val,
        ),
        Evidence(
            f"of the labels of val_data themselves {wording.share(held.val_told_by_itself)}, each sample left out in "
            f"turn; of those of data, in the same way, {wording.share(held.predicted)} (by chance "
            f"{wording.share(held.chance)})",
            held.val_told_by_itself,
        ),
    )
