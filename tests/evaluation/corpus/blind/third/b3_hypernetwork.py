"""Hypernetwork: a small network generates the weights of a regressor for each customer group."""
import torch
import torch.nn as nn

META = {
    "id": "b3_hypernetwork",
    "source": "own experience; PyTorch forum threads on writing generated weights into .data",
    "roots": ["disconnected-graph"],
    "description": "generated weights are written into the main layer's .data, so no gradient flows back to the hypernetwork",
    "location": "Conditioned.forward: self.main.weight.data = w",
    "shows_in": "one-batch",
}


class Conditioned(nn.Module):
    def __init__(self, fixed, n_groups=4, n_in=12, width=16, code=8):
        super().__init__()
        self.fixed = fixed
        self.n_in, self.width = n_in, width
        self.code = nn.Embedding(n_groups, code)
        self.hyper = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, n_in * width))
        self.main = nn.Linear(n_in, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, group, x):
        w = self.hyper(self.code(group)).view(self.width, self.n_in)
        if self.fixed:
            h = nn.functional.linear(x, w, self.main.bias)
        else:
            self.main.weight.data = w
            h = self.main(x)
        return self.readout(torch.tanh(h)).squeeze(-1)


def make_data(g, n_batches=8, batch=48):
    slope = torch.randn(4, 12, generator=g) / 2
    data = []
    for b in range(n_batches):
        group = torch.tensor(b % 4)
        x = torch.randn(batch, 12, generator=g)
        data.append((group, x, torch.sin(x @ slope[group])))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 65)
    data = make_data(g)
    model = Conditioned(fixed)
    params = [*model.code.parameters(), *model.hyper.parameters(), model.main.bias, *model.readout.parameters()]
    optimizer = torch.optim.Adam(params, lr=3e-3)

    def step(batch):
        group, x, y = batch
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(group, x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
