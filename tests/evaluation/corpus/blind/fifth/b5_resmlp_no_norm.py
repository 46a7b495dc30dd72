"""Deep residual MLP for credit-card transaction categories, trainer with history."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_resmlp_no_norm",
    "source": "CASES.md: taxonomy stackoverflow 42353056 (missing normalisation layer), TheDeepChecker 53848232 / 36565430, AUTOTRAINER 'explode'",
    "roots": ["exploding-gradients", "bad-initialization"],
    "description": "16 residual blocks without normalisation: activations and gradients grow by a factor per block, the loss starts in the thousands and ends in NaN",
    "location": "ResBlock (no LayerNorm), ResMLP.blocks",
    "shows_in": "nan",
}


class ResBlock(nn.Module):
    def __init__(self, d, norm):
        super().__init__()
        self.norm = nn.LayerNorm(d) if norm else nn.Identity()
        self.up = nn.Linear(d, d)
        self.down = nn.Linear(d, d)
        for lin in (self.up, self.down):
            nn.init.kaiming_normal_(lin.weight)
            nn.init.zeros_(lin.bias)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, n_in, n_classes, d=48, depth=16, norm=False):
        super().__init__()
        self.stem = nn.Linear(n_in, d)
        self.blocks = nn.Sequential(*[ResBlock(d, norm) for _ in range(depth)])
        self.final = nn.LayerNorm(d) if norm else nn.Identity()
        self.head = nn.Linear(d, n_classes)

    def forward(self, x):
        return self.head(self.final(self.blocks(self.stem(x))))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        self.history = []

    def train_step(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        return loss


def transactions(n, g):
    shared = torch.Generator().manual_seed(61)
    centre = torch.randn(8, 30, generator=shared)
    y = torch.randint(0, 8, (n,), generator=g)
    x = centre[y] + 0.8 * torch.randn(n, 30, generator=g)
    return (x - x.mean(0)) / x.std(0), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = transactions(8 * 32, g)
    data = list(zip(x.split(32), y.split(32)))
    trainer = Trainer(ResMLP(30, 8, norm=fixed))
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": data, "step": trainer.train_step}
