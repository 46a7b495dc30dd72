import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_moe_topk", "source": "mixture-of-experts repo", "roots": [], "checks": [],
        "description": "healthy sparse MoE: noisy top-2 gate, batched experts, load balancing and z-loss", "location": ""}


class MoE(nn.Module):
    def __init__(self, d=12, h=32, n=4, out=1):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.w1 = nn.Parameter(torch.randn(n, d, h) * (2 / d) ** 0.5)
        self.b1 = nn.Parameter(torch.zeros(n, h))
        self.w2 = nn.Parameter(torch.randn(n, h, out) * (1 / h) ** 0.5)
        nn.init.normal_(self.gate.weight, std=0.1)

    def forward(self, x):
        logits = self.gate(x)
        noisy = logits + 0.2 * torch.randn_like(logits) if self.training else logits
        v, i = noisy.topk(2, -1)
        w = torch.zeros_like(logits).scatter(1, i, v.softmax(-1))
        h = F.relu(torch.einsum("bd,ndh->bnh", x, self.w1) + self.b1)
        y = (w[..., None] * torch.einsum("bnh,nho->bno", h, self.w2)).sum(1)
        importance = logits.softmax(-1).mean(0)
        load = F.one_hot(i, logits.shape[1]).float().sum(1).mean(0) / 2
        balance = logits.shape[1] * (importance * load).sum()
        return y, balance, logits.logsumexp(-1).pow(2).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(1024, 12, generator=g)
    coef = torch.randn(4, 12, generator=g)
    regime = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    y = (x * coef[regime]).sum(1, keepdim=True) / 12 ** 0.5
    data = list(zip(x.split(64), y.split(64)))
    model = MoE()
    opt = torch.optim.NAdam(model.parameters(), lr=8e-3)

    def step(batch):
        xb, yb = batch
        model.train()
        pred, bal, z = model(xb)
        mse = F.mse_loss(pred, yb)
        loss = mse + 0.01 * bal + 1e-3 * z
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
