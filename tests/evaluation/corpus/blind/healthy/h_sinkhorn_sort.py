"""Learning to sort by Gumbel-free Sinkhorn."""
import torch
import torch.nn as nn

META = {
    "id": "h_sinkhorn_sort",
    "description": 'Log-space Sinkhorn normalisation in the forward pass yields a soft permutation; the loss is the NLL of the true one.',
    "roots": [],
}


class SortNet(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.n = n
        self.phi = nn.Sequential(nn.Linear(1, 48), nn.ReLU(), nn.Linear(48, 48))
        self.place = nn.Sequential(nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, n))

    def forward(self, x, iters=8, tau=0.3):
        h = self.phi(x[..., None])
        pooled = torch.cat([h.mean(1), h.amax(1)], 1)[:, None].expand(-1, self.n, -1)
        a = self.place(torch.cat([h, pooled], 2)) / tau      # (B, items, places)
        for _ in range(iters):
            a = a - torch.logsumexp(a, 2, keepdim=True)
            a = a - torch.logsumexp(a, 1, keepdim=True)
        return a


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        x = torch.rand(32, 6) * 4 - 2
        data.append((x, x.argsort(1).argsort(1)))
    model = SortNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        x, rank = batch
        return -model(x).gather(2, rank[..., None]).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
