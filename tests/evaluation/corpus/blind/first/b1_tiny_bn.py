"""Wafer defect scoring, images too large to hold many at once (micro-batches)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_tiny_bn",
    "source": "CASES.md C 48320854, 59648509 (batch normalisation with batch size 1)",
    "roots": ["batch-too-small"],
    "description": "BatchNorm layers see two samples at a time and normalise them to plus and minus one",
    "location": "micro_batch = 2 with nn.BatchNorm1d",
    "shows_in": "full-data",
}


class WaferNet(nn.Module):
    def __init__(self, n_in, n_out=1):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 48)
        self.bn1 = nn.BatchNorm1d(48)
        self.fc2 = nn.Linear(48, 32)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc3 = nn.Linear(32, n_out)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.bn2(self.fc2(x)))
        return self.fc3(x).squeeze(-1)


def make_wafers(n, n_in=12):
    x = torch.randn(n, n_in)
    w = torch.randn(n_in) / n_in ** 0.5
    score = x @ w + 0.4 * x[:, 0] * x[:, 1] + 0.3 * torch.cos(2 * x[:, 2])
    return x, (score - score.mean()) / score.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 12
    micro_batch = bs if fixed else 2
    x, score = make_wafers(12 * bs)
    data = [{"x": x[i:i + bs], "score": score[i:i + bs]} for i in range(0, len(x), bs)]
    model = WaferNet(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        losses = []
        for xb, yb in zip(batch["x"].split(micro_batch), batch["score"].split(micro_batch)):
            optimizer.zero_grad()
            loss = F.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
