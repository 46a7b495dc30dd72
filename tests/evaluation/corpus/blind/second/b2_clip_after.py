"""GRU regression of insurance claims with plain SGD; claims have a long tail, so gradients are clipped."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_clip_after",
    "source": "own experience (clip_grad_norm_ after optimizer.step)",
    "roots": ["bad-gradient-clipping"],
    "description": "the gradients are clipped after the optimizer has used them, so the clipping has no effect and large gradients go through",
    "location": "clip_grad_norm_ after optimizer.step",
    "shows_in": "nan",
}


class ClaimNet(nn.Module):
    def __init__(self, n_in=8, hidden=48):
        super().__init__()
        self.gru = nn.GRU(n_in, hidden, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(hidden, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        out, _ = self.gru(x)
        return self.mlp(out.mean(1)).squeeze(-1)


def make_data(n_batches=8, batch_size=32, length=8):
    w = torch.randn(8) / 8 ** 0.5
    data = []
    for _ in range(n_batches):
        profile = torch.randn(batch_size, 8)
        x = profile[:, None, :] + 0.2 * torch.randn(batch_size, length, 8)
        claim = torch.exp(1.3 * (profile @ w) + 1.5)
        data.append((x, claim))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ClaimNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(batch):
        history, claim = batch
        optimizer.zero_grad()
        loss = F.mse_loss(model(history), claim)
        loss.backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        else:
            optimizer.step()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
