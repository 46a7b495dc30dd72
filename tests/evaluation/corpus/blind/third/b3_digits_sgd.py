"""Digit images with a small CNN and plain SGD."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_digits_sgd",
    "source": "CASES.md G M3, R5; H 'not_converge'",
    "roots": ["lr-too-low"],
    "description": "learning rate taken over from an Adam fine-tuning recipe (3e-5) and used with SGD from scratch",
    "location": "optimizer: lr=3e-5",
    "shows_in": "one-batch",
}


class DigitCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 9, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def digits(g, n_batches=10, batch=32):
    glyph = (torch.rand(10, 1, 12, 12, generator=g) < 0.35).float() * 2
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 10, (batch,), generator=g)
        x = glyph[y] + 0.3 * torch.randn(batch, 1, 12, 12, generator=g)
        data.append((x - 0.7, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 83)
    data = digits(g)
    model = DigitCNN()
    lr = 0.03 if fixed else 3e-5
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)

    def step(batch):
        x, y = batch
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
