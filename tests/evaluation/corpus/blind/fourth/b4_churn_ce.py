"""Customer churn (yes/no) from tabular data with category embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_churn_ce",
    "source": "CASES.md 49931055 / 31627380 (softmax cross-entropy with a single output unit)",
    "roots": ["wrong-loss-for-task"],
    "description": "softmax cross-entropy on one output unit: the loss is identically zero",
    "location": "loss function",
    "shows_in": "one-batch",
}


class ChurnNet(nn.Module):
    def __init__(self, cardinalities=(12, 5), n_num=6):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, 8) for c in cardinalities)
        self.mlp = nn.Sequential(
            nn.Linear(8 * len(cardinalities) + n_num, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, cat, num):
        parts = [e(cat[:, i]) for i, e in enumerate(self.embeddings)]
        return self.mlp(torch.cat(parts + [num], 1))


def customers(n):
    cat = torch.stack([torch.randint(0, 12, (n,)), torch.randint(0, 5, (n,))], 1)
    num = torch.randn(n, 6)
    effect = torch.randn(12)
    churn = (effect[cat[:, 0]] + num[:, 0] - num[:, 1] * (cat[:, 1] == 2).float() > 0).float()
    return cat, num, churn[:, None]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cat, num, churn = customers(384)
    data = []
    for i in range(0, 384, 48):
        s = slice(i, i + 48)
        data.append({"cat": cat[s], "num": num[s], "churn": churn[s]})
    model = ChurnNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = F.binary_cross_entropy_with_logits if fixed else F.cross_entropy

    def loss(model, batch):
        return criterion(model(batch["cat"], batch["num"]), batch["churn"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
