"""Energy prediction from building data, ReduceLROnPlateau watching the epoch's loss."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_plateau_max",
    "source": "own experience (scheduler mode kept from an accuracy-based script)",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "ReduceLROnPlateau runs in mode='max' but is given the loss: it cuts the rate although the loss falls",
    "location": "ReduceLROnPlateau(mode='max')",
    "shows_in": "one-batch",
}


class EnergyNet(nn.Module):
    def __init__(self, n_num=10, n_sites=8):
        super().__init__()
        self.site = nn.Embedding(n_sites, 6)
        self.net = nn.Sequential(
            nn.Linear(n_num + 6, 192), nn.SiLU(),
            nn.Linear(192, 192), nn.SiLU(),
            nn.Linear(192, 1),
        )

    def forward(self, num, site):
        return self.net(torch.cat([num, self.site(site)], -1)).squeeze(-1)


def make_data(n_batches=5, batch_size=64):
    w, level = torch.randn(10) / 3, torch.randn(8)
    data = []
    for _ in range(n_batches):
        num = torch.randn(batch_size, 10)
        site = torch.randint(0, 8, (batch_size,))
        energy = torch.sin(num @ w) * (1 + 0.5 * num[:, 0]) + level[site]
        data.append((num, site, energy))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = EnergyNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="min" if fixed else "max", factor=0.1, patience=2)
    epoch_losses = []

    def step(batch):
        num, site, energy = batch
        loss = F.mse_loss(model(num, site), energy)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_losses.append(loss.item())
        if len(epoch_losses) == len(data):
            scheduler.step(sum(epoch_losses) / len(epoch_losses))
            epoch_losses.clear()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
