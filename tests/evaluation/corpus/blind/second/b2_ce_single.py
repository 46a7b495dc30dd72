"""Churn prediction from tabular data with categories: does the customer leave?"""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_ce_single",
    "source": "stackoverflow 46443566 (wrong selection of loss function)",
    "roots": ["wrong-loss-for-task"],
    "description": "cross-entropy over a single output: softmax over one class is always 1, the loss is 0 or constant and nothing is learned",
    "location": "F.cross_entropy(model(...), churn.unsqueeze(1))",
    "shows_in": "one-batch",
}
PLANS, REGIONS = 5, 9


class ChurnNet(nn.Module):
    def __init__(self, n_num=8):
        super().__init__()
        self.plan = nn.Embedding(PLANS, 4)
        self.region = nn.Embedding(REGIONS, 4)
        self.net = nn.Sequential(
            nn.Linear(n_num + 8, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 1),
        )

    def forward(self, num, plan, region):
        return self.net(torch.cat([num, self.plan(plan), self.region(region)], -1))


def make_data(n_batches=8, batch_size=64):
    w, plan_risk, region_risk = torch.randn(8), torch.randn(PLANS), torch.randn(REGIONS)
    data = []
    for _ in range(n_batches):
        num = torch.randn(batch_size, 8)
        plan = torch.randint(0, PLANS, (batch_size,))
        region = torch.randint(0, REGIONS, (batch_size,))
        risk = num @ w + 2 * plan_risk[plan] + region_risk[region]
        data.append({"num": num, "plan": plan, "region": region, "churn": (risk > 0).float()})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ChurnNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        out = model(batch["num"], batch["plan"], batch["region"])
        churn = batch["churn"].unsqueeze(1)
        if fixed:
            return F.binary_cross_entropy_with_logits(out, churn)
        return F.cross_entropy(out, churn)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
