# churn/train.py
from dataclasses import dataclass
import torch
from torch import nn

META = {"id": "t9_telecom_churn", "source": "company code, customer id taken along as a categorical column",
        "roots": ["overfitting"], "checks": ["generalizes"],
        "description": "an embedding of the customer id lets the model memorise every customer; validation has new customers",
        "location": "Config.categorical / ChurnModel.forward: customer_id is an input"}


@dataclass
class Config:
    n_customers: int = 5000
    rows_each: int = 1
    dim: int = 24
    hidden: int = 32
    lr: float = 4e-3
    batch_size: int = 48
    categorical: tuple = ("customer_id", "plan")


class ChurnModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        sizes = {"customer_id": cfg.n_customers, "plan": 5}
        self.columns = cfg.categorical
        self.embed = nn.ModuleDict({c: nn.Embedding(sizes[c], cfg.dim) for c in cfg.categorical})
        self.mlp = nn.Sequential(nn.Linear(cfg.dim * len(cfg.categorical) + 6, cfg.hidden), nn.ReLU(),
                                 nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))

    def forward(self, rows):
        parts = [self.embed[c](rows[c]) for c in self.columns] + [rows["usage"]]
        return self.mlp(torch.cat(parts, dim=1)).squeeze(1)


def load_rows(cfg, seed):
    g = torch.Generator().manual_seed(seed + 77)
    ids = torch.arange(cfg.n_customers).repeat_interleave(cfg.rows_each)
    n = len(ids)
    usage = torch.randn(n, 6, generator=g)
    plan = torch.randint(0, 5, (n,), generator=g)
    effect = torch.tensor([-1.5, -0.5, 0.0, 0.6, 1.4])
    score = 2.2 * usage[:, 0] - 1.8 * usage[:, 1] + 1.5 * usage[:, 2] * (usage[:, 3] > 0) + effect[plan]
    churned = (torch.rand(n, generator=g) < torch.sigmoid(1.6 * score)).float()
    return {"customer_id": ids, "plan": plan, "usage": usage, "churned": churned}


def batches(rows, index, size):
    return [{k: v[i] for k, v in rows.items()} for i in index.split(size)]


def criterion(model, batch):
    return nn.functional.binary_cross_entropy_with_logits(model(batch), batch["churned"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cfg = Config(categorical=("plan",)) if fixed else Config()
    rows = load_rows(cfg, seed)
    customers = torch.randperm(cfg.n_customers)
    held_out = torch.isin(rows["customer_id"], customers[:800])
    train_index = torch.nonzero(~held_out).flatten()
    train_index = train_index[torch.randperm(len(train_index))]
    val_index = torch.nonzero(held_out).flatten()
    model = ChurnModel(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    return {"model": model, "optimizer": optimizer, "loss": criterion,
            "data": batches(rows, train_index, cfg.batch_size), "val": batches(rows, val_index, 60)}
