"""Train the digits classifier: `python -m digits.train`."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.utils.data import DataLoader

from .data import Digits
from .model import DigitNet

LEARNING_RATE = 3e-3
BATCH_SIZE = 32


def build() -> tuple[nn.Module, Optimizer]:
    """A new model and its optimizer. Tests build theirs here too, so that they test what is trained."""
    model = DigitNet()
    optimizer = AdamW(model.parameters(), lr=LEARNING_RATE)
    return model, optimizer


def training_step(model: nn.Module, optimizer: Optimizer, batch: tuple[Tensor, Tensor]) -> Tensor:
    """One batch forwards, backwards, one update. Returns the loss before the update."""
    images, labels = batch
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()  # without the graph: whoever collects losses must not collect activations


@torch.no_grad()
def accuracy(model: nn.Module, data: Digits) -> float:
    model.eval()
    hits = (model(data.images).argmax(1) == data.labels).float().mean().item()
    model.train()
    return hits


def main(epochs: int = 3, samples: int = 4000) -> float:
    """Returns the accuracy on pages that were not trained on."""
    model, optimizer = build()
    loader = DataLoader(Digits(samples, seed=0), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    unseen = Digits(500, seed=1)
    for epoch in range(epochs):
        losses = [training_step(model, optimizer, batch) for batch in loader]
        loss = torch.stack(losses).mean().item()  # one look per epoch: .item() every step would wait for the device
        print(f"epoch {epoch + 1}: loss {loss:.3f}, accuracy {accuracy(model, unseen):.1%}")
    return accuracy(model, unseen)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
