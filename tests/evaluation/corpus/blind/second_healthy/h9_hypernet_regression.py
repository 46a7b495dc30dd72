import torch
from torch import nn

META = {"id": "h9_hypernet_regression", "source": "hypernetwork paper code", "roots": [], "checks": [],
        "description": "healthy hypernetwork: a task descriptor generates the weights of a small regressor, scaled output init",
        "location": ""}


class HyperNet(nn.Module):
    shapes = [(1, 16), (16,), (16, 16), (16,), (16, 1), (1,)]

    def __init__(self, z=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(z, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU())
        self.heads = nn.ModuleList()
        for s in self.shapes:
            n = int(torch.tensor(s).prod())
            head = nn.Linear(48, n)
            nn.init.normal_(head.weight, std=0.05)
            with torch.no_grad():
                head.bias.normal_(0, s[0] ** -0.5 if len(s) == 2 else 0.1)
            self.heads.append(head)

    def forward(self, z, x):
        h = self.body(z)
        p = [f(h).view(len(z), *s) for f, s in zip(self.heads, self.shapes)]
        y = x
        for k in range(0, 6, 2):
            y = torch.bmm(y, p[k]) + p[k + 1][:, None]
            if k < 4:
                y = torch.tanh(y)
        return y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = []
    for _ in range(20):
        z = torch.rand(16, 3, generator=g) * 2 - 1
        x = torch.rand(16, 24, 1, generator=g) * 4 - 2
        y = z[:, 0, None, None] * x + torch.sin(x * 1.5 + z[:, 1, None, None]) + z[:, 2, None, None]
        data.append(((z, x), y))
    model = HyperNet()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=40)

    def step(batch):
        (z, x), y = batch
        loss = nn.functional.mse_loss(model(z, x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step(loss.detach())
        return loss.detach()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
