"""Does it train? The first test asks the parts, the second the whole script."""

import pytest
from torch.utils.data import DataLoader

from digits.data import Digits
from digits.train import BATCH_SIZE, build, main, training_step
from pytest_trainhealth import Training


@pytest.mark.overfits_one_batch
@pytest.mark.gradients_flow
@pytest.mark.trains_without_nan(steps=50)
@pytest.mark.uses_its_input
@pytest.mark.learns_from_data
@pytest.mark.keeps_throughput
def test_digits():
    model, optimizer = build()
    loader = DataLoader(Digits(500), batch_size=BATCH_SIZE, shuffle=True)
    # Our own training step, not only our loss: a bug in the loop is a bug too.
    return Training(model, optimizer=optimizer, step=lambda batch: training_step(model, optimizer, batch), data=loader)


@pytest.mark.trains_without_nan
def test_script():
    main(epochs=1, samples=500)  # returns nothing: whatever it trains is watched
