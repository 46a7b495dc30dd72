"""Probabilistic travel-time regression: the network gives mean and log-scale of a Laplace law."""
import torch
import torch.nn as nn

META = {
    "id": "b4_mdn_loglik",
    "source": "own experience (likelihood minimised); cf. CASES.md flipped_sign",
    "roots": ["wrong-loss-sign"],
    "description": "the log-likelihood is minimised, its negative should be",
    "location": "return value of nll",
    "shows_in": "one-batch",
}


class TravelTime(nn.Module):
    def __init__(self, zones=20, dim=8):
        super().__init__()
        self.origin = nn.Embedding(zones, dim)
        self.destination = nn.Embedding(zones, dim)
        self.net = nn.Sequential(nn.Linear(2 * dim + 1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, origin, destination, hour):
        z = torch.cat([self.origin(origin), self.destination(destination), hour[:, None]], 1)
        mean, log_scale = self.net(z).unbind(1)
        return torch.distributions.Laplace(mean, log_scale.clamp(-2.0, 3.0).exp())


def trips(n, zones=20):
    where = torch.randn(zones, 2)
    o, d = torch.randint(0, zones, (n,)), torch.randint(0, zones, (n,))
    hour = torch.rand(n) * 2 - 1
    minutes = 4 * (where[o] - where[d]).norm(dim=1) * (1 + 0.5 * torch.exp(-8 * hour ** 2))
    return o, d, hour, minutes


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    columns = trips(512)
    data = [tuple(c[i:i + 64] for c in columns) for i in range(0, 512, 64)]
    model = TravelTime()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def nll(dist, minutes):
        ll = dist.log_prob(minutes).mean()
        return -ll if fixed else ll

    def train_step(batch):
        o, d, hour, minutes = batch
        optimizer.zero_grad(set_to_none=True)
        loss = nll(model(o, d, hour), minutes)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": train_step}
