"""The plain recipe that a training is held against: what does this model reach on this data with nothing special?

Adam with one rate and default settings, no regularisation, standardised inputs, torch's own initialisation: whatever
the user chose in their place is an ingredient of the user's recipe. Gradients are used as the user's loop leaves them
(Adam does not mind if they were clipped), so the loop itself is shared, and its faults are the wiring's to find.
A user's run that ends far above has its fault among the ingredients; where the plain recipe ends as high, the fault is
in what the two share: the model, the loss, the data.
"""

from __future__ import annotations

from contextlib import ExitStack

from ..observe.run.events import Listener
from ..observe.run.run import Run
from ._plain_adam import PlainAdam
from .inputs.held_out_batches import HeldOutBatches
from .inputs.standardised_inputs import StandardisedInputs
from .layers.default_initialisation import DefaultInitialisation
from .optimizer.no_regularization import NoRegularization

#: Inputs with a feature whose mean or spread lies beyond are standardised: those of the healthy programs have 1.2 and
#: 2.2 at most (analysis/data_scale.py).
_STANDARD = 3.0


class ReferenceRecipe(Listener):
    """Made of cures that exist for themselves; each listens to the run on its own."""

    def __init__(self, run: Run, stack: ExitStack, rate: float, held_out: bool = False) -> None:
        if held_out:  # first: it takes the gradients away before Adam sees them
            run.subscribe(HeldOutBatches(run, stack))
        for part in (
            StandardisedInputs(run, stack, inputs=_STANDARD),
            DefaultInitialisation(run, stack),
            NoRegularization(run, stack),
            PlainAdam(run, stack, rate=rate),
        ):
            run.subscribe(part)
