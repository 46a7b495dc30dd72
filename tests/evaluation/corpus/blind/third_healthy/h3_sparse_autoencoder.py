import torch
from torch import nn

META = {"id": "h3_sparse_autoencoder", "source": "healthy; interpretability SAE with unit-norm decoder",
        "roots": [], "checks": [], "description": "ReLU dictionary with L1 penalty; decoder columns renormalised after every update", "location": ""}


class SAE(nn.Module):
    def __init__(self, d, m):
        super().__init__()
        self.b_dec = nn.Parameter(torch.zeros(d))
        self.W_dec = nn.Parameter(torch.randn(m, d))
        with torch.no_grad():
            self.normalize()
        self.W_enc = nn.Parameter(self.W_dec.detach().t().clone())
        self.b_enc = nn.Parameter(torch.zeros(m))

    @torch.no_grad()
    def normalize(self):
        self.W_dec.div_(self.W_dec.norm(dim=1, keepdim=True))

    def forward(self, x):
        f = torch.relu((x - self.b_dec) @ self.W_enc + self.b_enc)
        return f @ self.W_dec + self.b_dec, f


class SAETrainer:
    def __init__(self, sae, lr=3e-3, l1=2e-2):
        self.sae, self.l1 = sae, l1
        self.opt = torch.optim.Adam(sae.parameters(), lr=lr, betas=(0.9, 0.99))

    def __call__(self, acts):
        rec, f = self.sae(acts)
        loss = (rec - acts).pow(2).sum(1).mean() + self.l1 * f.sum(1).mean()
        self.opt.zero_grad()
        loss.backward()
        with torch.no_grad():
            W = self.sae.W_dec
            W.grad -= (W.grad * W).sum(1, keepdim=True) * W
        self.opt.step()
        self.sae.normalize()
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 27)
    atoms = torch.randn(24, 16, generator=g)
    atoms = atoms / atoms.norm(dim=1, keepdim=True)
    code = torch.rand(64 * 24, 24, generator=g) * 2 * (torch.rand(64 * 24, 24, generator=g) < 0.12)
    acts = code @ atoms + 0.02 * torch.randn(64 * 24, 16, generator=g)
    tr = SAETrainer(SAE(16, 48))
    return {"model": tr.sae, "optimizer": tr.opt, "data": list(acts.split(64)), "step": tr}
