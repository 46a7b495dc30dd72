"""Forecasting with a time-first GRU that carries its state."""
import torch
import torch.nn as nn

META = {
    "id": "h_time_first_gru",
    "description": 'Time-first tensors (T, B, F), a hidden state kept and detached across chunks (truncated BPTT) and dropped at the start of each pass, plain loss on every step.',
    "roots": [],
}


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(2, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, h=None):
        y, h = self.gru(x, h)
        return x + self.out(y), h


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    omega = 0.2 + 0.4 * torch.rand(16)
    phase = 6.28 * torch.rand(16)
    t = torch.arange(8 * 20 + 1)[:, None]
    wave = torch.stack([torch.sin(omega * t + phase), torch.cos(omega * t + phase)], -1)
    data = [(wave[i * 20:i * 20 + 20], wave[i * 20 + 1:i * 20 + 21], i == 0) for i in range(8)]
    model = Forecaster()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    memory = {"h": None}

    def step(batch):
        x, y, first = batch
        pred, h = model(x, None if first else memory["h"])
        memory["h"] = h.detach()
        loss = nn.functional.mse_loss(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
