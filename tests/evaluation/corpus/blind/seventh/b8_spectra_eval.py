import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_spectra_eval", "source": "trainers with a sanity validation before fit()", "roots": ["wrong-mode"], "checks": [],
 "description": "the sanity check puts the model in eval mode and nothing puts it back: training goes on with BatchNorm's initial running statistics, the inputs are never normalised",
 "location": "Fitter.sanity_check"}

class SpectraReg(nn.Module):
    def __init__(self, n=30):
        super().__init__()
        self.bn = nn.BatchNorm1d(n)
        self.net = nn.Sequential(nn.Linear(n, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 1))
    def forward(self, x):
        return self.net(self.bn(x))[:, 0]

class Fitter:
    def __init__(self, model, opt, fixed):
        self.model, self.opt, self.fixed = model, opt, fixed
    @torch.no_grad()
    def sanity_check(self, batch):
        was = self.model.training
        self.model.eval()
        out = F.l1_loss(self.model(batch[0]), batch[1])
        if self.fixed:
            self.model.train(was)
        return out
    def fit_batch(self, batch):
        x, y = batch
        self.opt.zero_grad()
        loss = F.mse_loss(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss.detach()

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    peaks = torch.rand(3, 30)
    data = []
    for _ in range(8):
        c = torch.rand(48, 3)
        x = 400 + 120 * (c @ peaks) + 2 * torch.randn(48, 30)
        data.append((x, 4 * (c[:, 0] - c[:, 1]) + 2 * c[:, 2] - 1))
    model = SpectraReg()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    fit = Fitter(model, opt, fixed)
    fit.sanity_check(data[0])
    return {"model": model, "optimizer": opt, "data": data, "step": fit.fit_batch}
