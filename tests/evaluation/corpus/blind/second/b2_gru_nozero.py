"""GRU next-value prediction on mixed sine waves."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_gru_nozero",
    "source": "tenstorrent/tt-blacksmith PR 711",
    "roots": ["missing-zero-grad"],
    "description": "gradients are never zeroed, they add up over all steps",
    "location": "step: no optimizer.zero_grad()",
    "shows_in": "one-batch",
}


class WaveGRU(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.gru(x.unsqueeze(-1))
        return self.out(h).squeeze(-1)


def make_data(n_batches=6, batch_size=16, length=24):
    t = torch.arange(length + 1).float()
    data = []
    for _ in range(n_batches):
        f = torch.rand(batch_size, 1) * 0.5 + 0.3
        phase = torch.rand(batch_size, 1) * 6.28
        wave = torch.sin(f * t + phase) + 0.5 * torch.sin(2 * f * t)
        data.append((wave[:, :-1], wave[:, 1:]))
    return data


class Trainer:
    def __init__(self, model, lr, zero_grad):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.zero_grad = zero_grad
        self.history = []

    def optimizer_step(self):
        self.optimizer.step()
        if self.zero_grad:
            self.optimizer.zero_grad()

    def train_step(self, batch):
        past, target = batch
        loss = F.mse_loss(self.model(past), target)
        loss.backward()
        self.optimizer_step()
        self.history.append(loss.item())
        return loss.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = WaveGRU()
    trainer = Trainer(model, lr=0.1, zero_grad=fixed)
    return {"model": model, "optimizer": trainer.optimizer, "data": data, "step": trainer.train_step}
