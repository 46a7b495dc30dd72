"""Sleep stage classification with an explicit L2 penalty in the loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_l2_penalty",
    "source": "CASES.md D over_regularization, C 51028324 (high regularisation)",
    "roots": ["too-much-regularization"],
    "description": "the L2 penalty, a sum over all weights, is weighted with 0.1 and outweighs the classification loss",
    "location": "l2_lambda in step",
    "shows_in": "one-batch",
}


class SleepNet(nn.Module):
    def __init__(self, n_bands, n_stages):
        super().__init__()
        self.gru = nn.GRU(n_bands, 32, batch_first=True)
        self.fc = nn.Linear(32, n_stages)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.fc(out.mean(dim=1))


def make_epochs(n, length=10, n_bands=6, n_stages=5):
    power = torch.randn(n_stages, n_bands)
    trend = torch.randn(n_stages, n_bands) * 0.5
    stage = torch.randint(0, n_stages, (n,))
    t = torch.linspace(-1, 1, length).view(1, -1, 1)
    x = power[stage].unsqueeze(1) + trend[stage].unsqueeze(1) * t + 0.7 * torch.randn(n, length, n_bands)
    return (x - x.mean((0, 1))) / x.std((0, 1)), stage


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 32
    x, stage = make_epochs(10 * bs)
    data = list(zip(x.split(bs), stage.split(bs)))
    model = SleepNet(x.shape[-1], 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    l2_lambda = 1e-5 if fixed else 0.1

    def step(batch):
        x, stage = batch
        optimizer.zero_grad()
        ce = F.cross_entropy(model(x), stage)
        l2_norm = sum(p.pow(2).sum() for p in model.parameters())
        loss = ce + l2_lambda * l2_norm
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
