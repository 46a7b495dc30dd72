import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_evaluate_prototypes", "source": "healthy; cosine classifier with EMA weights swapped in for evaluation",
        "roots": [], "checks": ["evaluates_cleanly"], "description": "EMA weights are swapped in, accuracy is counted, the raw weights are put back", "location": ""}


class CosineNet(nn.Module):
    def __init__(self, d=12, k=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 24))
        self.proto = nn.Parameter(torch.randn(k, 24))
        self.scale = nn.Parameter(torch.tensor(8.0))

    def forward(self, x):
        return self.scale * F.normalize(self.body(x), dim=1) @ F.normalize(self.proto, dim=1).t()


class EMAHelper:
    def __init__(self, model, d=0.95):
        self.d = d
        self.avg = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for n, p in model.named_parameters():
            self.avg[n].lerp_(p, 1 - self.d)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 49)
    x = torch.randn(40 * 32, 12, generator=g)
    y = (x @ torch.randn(12, 5, generator=g)).argmax(1)
    b = list(zip(x.split(40), y.split(40)))
    net = CosineNet()
    ema = EMAHelper(net)
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)

    def step(batch):
        net.train()
        loss = F.cross_entropy(net(batch[0]), batch[1])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)
        return loss.item()

    def evaluate(val):
        was = net.training
        raw = {n: p.detach().clone() for n, p in net.named_parameters()}
        net.eval()
        with torch.no_grad():
            for n, p in net.named_parameters():
                p.copy_(ema.avg[n])
            hits = sum((net(a).argmax(1) == t).sum().item() for a, t in val)
            for n, p in net.named_parameters():
                p.copy_(raw[n])
        net.train(was)
        return hits / sum(len(t) for _, t in val)

    return {"model": net, "optimizer": opt, "data": b[:26], "val": b[26:], "step": step, "evaluate": evaluate}
