import torch, torch.nn as nn
import warnings
META = {"id": "b8_nested_groups", "source": "collecting parameters by walking model.modules()", "roots": ["duplicate-parameters"], "checks": [],
 "description": "parameters are collected with m.parameters() for every m in model.modules(); nested modules appear once per level, so the optimizer updates the same tensor several times per step",
 "location": "collect_params"}

def block(d):
    return nn.Sequential(nn.Sequential(nn.Linear(d, d), nn.Tanh()), nn.Sequential(nn.Linear(d, d), nn.Tanh()))

class Forecaster(nn.Module):
    def __init__(self, lag=24, horizon=4, d=32):
        super().__init__()
        self.inp = nn.Linear(lag, d)
        self.trunk = nn.Sequential(block(d), block(d))
        self.out = nn.Linear(d, horizon)
    def forward(self, x):
        h = self.inp(x)
        return self.out(h + self.trunk(h))

def collect_params(model, fixed):
    params = []
    for m in model.modules():
        params += list(m.parameters(recurse=not fixed))
    return params

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.arange(600.)
    series = torch.sin(t / 5) + 0.5 * torch.sin(t / 2.3 + 1) + 0.05 * torch.randn(600)
    starts = torch.randperm(570)[:320].split(40)
    data = []
    for s in starts:
        win = torch.stack([series[i:i + 28] for i in s.tolist()])
        data.append((win[:, :24], win[:, 24:]))
    model = Forecaster()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = torch.optim.SGD(collect_params(model, fixed), lr=0.12, momentum=0.9)
    mse = nn.MSELoss()
    def step(batch):
        x, y = batch
        for p in model.parameters():
            p.grad = None
        loss = mse(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
