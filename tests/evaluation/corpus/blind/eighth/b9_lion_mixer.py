"""MLP-Mixer on small patches, trained with a Lion written from the paper."""
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "b9_lion_mixer", "source": "hand-written optimizers that keep model.parameters() (a generator)",
        "roots": ["updates-lost", "missing-optimizer-step"], "checks": [],
        "description": "the optimizer keeps the generator model.parameters(): the first pass over it uses it up, and every later step visits no parameter",
        "location": "Lion.__init__"}


class Lion:
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, fixed=False):
        self.params = list(params) if fixed else params
        self.lr, self.betas, self.weight_decay = lr, betas, weight_decay
        self.exp_avg = {}

    @torch.no_grad()
    def step(self):
        b1, b2 = self.betas
        for p in self.params:
            g = p.grad
            if g is None:
                continue
            m = self.exp_avg.setdefault(p, torch.zeros_like(p))
            update = (m * b1 + g * (1 - b1)).sign_()
            p.mul_(1 - self.lr * self.weight_decay).add_(update, alpha=-self.lr)
            m.mul_(b2).add_(g, alpha=1 - b2)


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(tokens, tokens * 2), nn.GELU(), nn.Linear(tokens * 2, tokens))
        self.ch = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.ch(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, patch=4, size=16, dim=48, depth=2, classes=5):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, patch, patch)
        tokens = (size // patch) ** 2
        self.blocks = nn.Sequential(*[MixerBlock(tokens, dim) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def blobs(n, seed, size=16, classes=5):
    g = torch.Generator().manual_seed(seed + 19)
    y = torch.randint(0, classes, (n,), generator=g)
    centers = torch.tensor([[3, 3], [3, 12], [12, 3], [12, 12], [8, 8]]).float()[y]
    centers = centers + torch.randn(n, 2, generator=g)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    d = (yy - centers[:, :1, None]) ** 2 + (xx - centers[:, 1:, None]) ** 2
    img = torch.exp(-d / 8).unsqueeze(1) * torch.randn(n, 3, 1, 1, generator=g).abs()
    return img + 0.2 * torch.randn(n, 3, size, size, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = Mixer()
    optimizer = Lion(model.parameters(), lr=5e-4, weight_decay=0.1, fixed=fixed)
    x, y = blobs(512, seed)
    data = list(zip(x.split(32), y.split(32)))

    def step(batch):
        x, y = batch
        for p in model.parameters():
            p.grad = None
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
