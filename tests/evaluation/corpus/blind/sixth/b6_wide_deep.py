"""Wide-and-deep rating model: Adagrad for the wide part, Adam for the deep part."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_wide_deep",
    "source": "two-optimizer recommender loops; CASES.md E: so 53332663 (missing API call)",
    "roots": ["missing-optimizer-step"],
    "checks": [],
    "description": "Two optimizers are built and zeroed, but only the one of the deep part is stepped; the wide part never learns.",
    "location": "Runner.run_batch: self.opts['deep'].step()",
}

USERS, ITEMS = 30, 25


class WideDeep(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.wide = nn.ModuleDict({
            "user_bias": nn.Embedding(USERS, 1),
            "item_bias": nn.Embedding(ITEMS, 1),
            "context": nn.Linear(4, 1),
        })
        self.deep = nn.ModuleDict({
            "user": nn.Embedding(USERS, dim),
            "item": nn.Embedding(ITEMS, dim),
            "mlp": nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1)),
        })
        for table in (self.wide["user_bias"], self.wide["item_bias"]):
            nn.init.normal_(table.weight, std=0.01)

    def forward(self, u, i, ctx):
        linear = self.wide["user_bias"](u) + self.wide["item_bias"](i) + self.wide["context"](ctx)
        cross = self.deep["mlp"](torch.cat([self.deep["user"](u), self.deep["item"](i)], dim=1))
        return (linear + cross).squeeze(1)


class Runner:
    def __init__(self, model, step_all):
        self.model = model
        self.opts = {
            "wide": torch.optim.Adagrad(model.wide.parameters(), lr=0.1),
            "deep": torch.optim.Adam(model.deep.parameters(), lr=5e-3),
        }
        self.to_step = list(self.opts) if step_all else ["deep"]

    def run_batch(self, batch):
        for opt in self.opts.values():
            opt.zero_grad()
        pred = self.model(batch["user"], batch["item"], batch["context"])
        loss = F.mse_loss(pred, batch["rating"])
        loss.backward()
        for name in self.to_step:
            self.opts[name].step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    ub, ib = torch.randn(USERS, generator=gen), torch.randn(ITEMS, generator=gen)
    wc = torch.randn(4, generator=gen)
    data = []
    for _ in range(10):
        u = torch.randint(0, USERS, (48,), generator=gen)
        i = torch.randint(0, ITEMS, (48,), generator=gen)
        ctx = torch.randn(48, 4, generator=gen)
        rating = ub[u] + ib[i] + 0.7 * (ctx @ wc) + 0.5 * torch.sign(ub[u] * ib[i])
        data.append({"user": u, "item": i, "context": ctx, "rating": rating})
    runner = Runner(WideDeep(), step_all=fixed)
    return {"model": runner.model, "optimizer": runner.opts, "data": data, "step": runner.run_batch}
