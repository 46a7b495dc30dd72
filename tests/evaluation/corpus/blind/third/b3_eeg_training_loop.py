"""EEG state classification: 1-D CNN with gradient clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_eeg_training_loop",
    "source": "own experience (lines of the loop in the wrong order)",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad() stands between backward() and step(), so the optimizer finds no gradients",
    "location": "step: optimizer.zero_grad() after loss.backward()",
    "shows_in": "one-batch",
}


class EEGNet(nn.Module):
    def __init__(self, channels=6, n_states=4):
        super().__init__()
        self.conv1 = nn.Conv1d(channels, 24, 7, stride=2, padding=3)
        self.bn1 = nn.BatchNorm1d(24)
        self.conv2 = nn.Conv1d(24, 32, 5, stride=2, padding=2)
        self.bn2 = nn.BatchNorm1d(32)
        self.head = nn.Linear(32, n_states)

    def forward(self, x):
        x = F.elu(self.bn1(self.conv1(x)))
        x = F.elu(self.bn2(self.conv2(x)))
        return self.head(x.amax(dim=2))


def recordings(g, n_batches=8, batch=24, length=48):
    t = torch.arange(length) / 16
    band = torch.tensor([1.0, 2.0, 3.5, 5.0])
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 4, (batch,), generator=g)
        phase = 6.28 * torch.rand(batch, 6, 1, generator=g)
        x = torch.sin(6.28 * band[y][:, None, None] * t + phase)
        data.append((x + 0.4 * torch.randn(x.shape, generator=g), y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 47)
    data = recordings(g)
    model = EEGNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def step(batch):
        model.train()
        x, y = batch
        if fixed:
            optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if not fixed:
            optimizer.zero_grad()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
