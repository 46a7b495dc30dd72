"""Count regression of bike hires with an exposure offset."""
import torch
import torch.nn as nn

META = {
    "id": "h_poisson_counts",
    "description": 'Poisson likelihood without the constant term: the loss is negative for large counts and its floor is not zero.',
    "roots": [],
}


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.hour = nn.Embedding(24, 8)
        self.net = nn.Sequential(nn.Linear(8 + 3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, hour, weather, log_exposure):
        return self.net(torch.cat([self.hour(hour), weather], 1)).squeeze(1) + log_exposure


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        hour = torch.randint(0, 24, (48,))
        weather = torch.randn(48, 3)
        expo = 1 + 3 * torch.rand(48)
        rate = expo * torch.exp(1 + torch.sin(hour * 6.28 / 24) + 0.4 * weather[:, 0])
        data.append(dict(hour=hour, weather=weather, log_exposure=expo.log(), count=torch.poisson(rate)))
    model = Counts()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    nll = nn.PoissonNLLLoss(log_input=True, full=False)

    def loss(model, batch):
        return nll(model(batch["hour"], batch["weather"], batch["log_exposure"]), batch["count"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
