"""CNN on spectrogram patches with StepLR, trained with a hand-written step."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_steplr_batch",
    "source": "own experience (per-epoch scheduler stepped per batch; common on discuss.pytorch.org)",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "StepLR is set up in epochs but stepped after every batch: the learning rate is gone within a few epochs",
    "location": "scheduler.step() inside the batch step",
    "shows_in": "one-batch",
}


class PatchNet(nn.Module):
    def __init__(self, n_classes=6):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 3, 48)
        self.fc2 = nn.Linear(48, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def make_data(n_batches=8, batch_size=24):
    patterns = torch.randn(6, 1, 16, 12)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 6, (batch_size,))
        gain = 0.5 + torch.rand(batch_size, 1, 1, 1)
        x = gain * patterns[y] + 1.2 * torch.randn(batch_size, 1, 16, 12)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = PatchNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.3)
    seen = {"batches": 0}

    def step(batch):
        x, y = batch
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen["batches"] += 1
        if not fixed or seen["batches"] % len(data) == 0:
            scheduler.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
