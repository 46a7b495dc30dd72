"""MLP on gene expression profiles, ported from a TensorFlow script with keep_prob."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_keepprob",
    "source": "DeepCrime operator change_dropout_rate (keep probability taken for drop probability)",
    "roots": ["too-much-regularization"],
    "description": "keep_prob 0.9 is handed to nn.Dropout as p: nine of ten units are dropped in each hidden layer",
    "location": "nn.Dropout(keep_prob)",
    "shows_in": "one-batch",
}


class ExpressionNet(nn.Module):
    def __init__(self, n_genes=60, n_types=8, hidden=96, keep_prob=0.9, fixed=False):
        super().__init__()
        p = 1.0 - keep_prob if fixed else keep_prob
        self.fc1 = nn.Linear(n_genes, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_types)
        self.drop1 = nn.Dropout(p)
        self.drop2 = nn.Dropout(p)

    def forward(self, x):
        x = self.drop1(F.relu(self.fc1(x)))
        x = self.drop2(F.relu(self.fc2(x)))
        return self.fc3(x)


def make_data(n_batches=8, batch_size=48):
    profiles = torch.randn(8, 60)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 8, (batch_size,))
        x = 0.7 * profiles[y] + torch.randn(batch_size, 60)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = ExpressionNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        model.train()
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
