"""label-noise: a part of the labels is wrong

What happens
    A model first learns what most labels say and then memorises the rest, one by one. Training goes on to improve while
    validation gets worse, and no model can be better than its labels.

How severe it is
    Advice: it limits what can be reached, and training longer makes it worse.

How it is recognised
    Of up to 1,024 samples, each is compared with its ten nearest neighbours, itself left out. Where eight or more of
    them agree, a label that differs from theirs is counted. The share of these is an estimate of the noise, given with
    two standard errors. It is a note of a test that passes, and never a failure.

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
    said. Exceptions are not errors: a rare class inside of a common one looks like noise.
"""

from __future__ import annotations

from ..records.symptoms import FAULTY_DATA
from ._groups import DATA

GROUP = DATA
ORDER = 10
ADVICE = True
EXPLAINS = (FAULTY_DATA,)
