"""Handwritten-digit style classifier with NLLLoss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_mnist_nll_logits",
    "source": "CASES.md: taxonomy stackoverflow 53813636 (missing softmax layer), DeepCrime M2",
    "roots": ["missing-activation-for-loss"],
    "description": "NLLLoss gets the raw output of the last layer, log_softmax is missing: the loss is negative and falls for ever",
    "location": "Net.forward return",
    "shows_in": "one-batch",
}


class Net(nn.Module):
    def __init__(self, log_probs):
        super().__init__()
        self.log_probs = log_probs
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.fc1 = nn.Linear(16 * 2 * 2, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        x = x.view(-1, 64)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        return F.log_softmax(x, dim=1) if self.log_probs else x


def strokes(n, g):
    base = torch.Generator().manual_seed(3)
    proto = (F.interpolate(torch.randn(10, 1, 4, 4, generator=base), size=16, mode="bilinear") > 0.2).float()
    y = torch.randint(0, 10, (n,), generator=g)
    x = proto[y] + 0.3 * torch.randn(n, 1, 16, 16, generator=g)
    return (x - 0.45) / 0.55, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    x, y = strokes(8 * 32, g)
    train_batches = [(x[i:i + 32], y[i:i + 32]) for i in range(0, len(x), 32)]

    model = Net(log_probs=fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)

    def loss(model, batch):
        image, target = batch
        return F.nll_loss(model(image), target)

    return {"model": model, "optimizer": optimizer, "data": train_batches, "loss": loss}
