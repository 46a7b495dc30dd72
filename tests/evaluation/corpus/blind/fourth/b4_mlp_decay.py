"""Gene-expression subtype classifier with regularisation settings from a config."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_mlp_decay",
    "source": "CASES.md 51028324 / over_regularization",
    "roots": ["too-much-regularization"],
    "description": "weight_decay is 0.5 instead of 5e-4, which pulls every weight to zero",
    "location": "CONFIG['weight_decay']",
    "shows_in": "one-batch",
}

CONFIG = {"lr": 1e-3, "weight_decay": 0.5, "hidden": 128, "dropout": 0.1}


class SubtypeNet(nn.Module):
    def __init__(self, genes=80, subtypes=5, hidden=128, dropout=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(genes, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, subtypes),
        )

    def forward(self, x):
        return self.net(x)


class Runner:
    def __init__(self, config):
        self.model = SubtypeNet(hidden=config["hidden"], dropout=config["dropout"])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
        self.history = []

    def step(self, batch):
        self.model.train()
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(batch["expr"]), batch["subtype"])
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    subtype = torch.randint(0, 5, (320,))
    programme = torch.randn(5, 80) * (torch.rand(5, 80) < 0.3)
    expr = programme[subtype] + 0.7 * torch.randn(320, 80)
    data = [{"expr": expr[i:i + 40], "subtype": subtype[i:i + 40]} for i in range(0, 320, 40)]
    config = dict(CONFIG)
    if fixed:
        config["weight_decay"] = 5e-4
    runner = Runner(config)
    return {"model": runner.model, "optimizer": runner.optimizer, "data": data, "step": runner.step}
