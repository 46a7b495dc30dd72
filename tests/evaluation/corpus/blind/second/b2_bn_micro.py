"""Regression net with BatchNorm, run in micro-batches to fit into memory."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_bn_micro",
    "source": "DeepPavlov 7aeb0be6, kur e4dc799 (suboptimal batch size), DeepCrime change_batch_size",
    "roots": ["batch-too-small"],
    "description": "the batch is cut into micro-batches of two, too few for the BatchNorm layers' statistics",
    "location": "micro_batch_size = 2",
    "shows_in": "one-batch",
}


class AgeNet(nn.Module):
    def __init__(self, n_pixels=100):
        super().__init__()
        self.fc1 = nn.Linear(n_pixels, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 64)
        self.bn2 = nn.BatchNorm1d(64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        h = F.relu(self.bn1(self.fc1(x.flatten(1))))
        h = F.relu(self.bn2(self.fc2(h)))
        return self.out(h).squeeze(-1)


def make_data(n_batches=6, batch_size=16):
    wear = torch.randn(1, 10, 10)
    data = []
    for _ in range(n_batches):
        age = torch.randn(batch_size) * 1.5
        x = torch.randn(batch_size, 1, 10, 10) * 0.4 + age.view(-1, 1, 1, 1) * wear
        data.append((x, age))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = AgeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    micro_batch_size = 16 if fixed else 2

    def step(batch):
        images, ages = batch
        order = torch.randperm(len(images))
        images, ages = images[order], ages[order]
        model.train()
        optimizer.zero_grad()
        total = 0.0
        for x, y in zip(images.split(micro_batch_size), ages.split(micro_batch_size)):
            loss = F.mse_loss(model(x), y) * len(x) / len(images)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return torch.tensor(total)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
