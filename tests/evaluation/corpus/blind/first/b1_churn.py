"""Customer churn prediction (binary) from account features."""
import torch
import torch.nn as nn

META = {
    "id": "b1_churn",
    "source": "CASES.md C 34886605 / 53971451 (softmax with one output unit)",
    "roots": ["wrong-output-activation"],
    "description": "softmax over a single output unit: the probability is 1 for every sample",
    "location": "ChurnModel.out_act = nn.Softmax(dim=1)",
    "shows_in": "one-batch",
}


class ChurnModel(nn.Module):
    def __init__(self, n_features, out_act):
        super().__init__()
        self.fc1 = nn.Linear(n_features, 128)
        self.fc2 = nn.Linear(128, 64)
        self.out = nn.Linear(64, 1)
        self.dropout = nn.Dropout(0.1)
        self.out_act = out_act

    def forward(self, x):
        x = self.dropout(torch.relu(self.fc1(x)))
        x = torch.relu(self.fc2(x))
        return self.out_act(self.out(x))


def load_accounts(n):
    tenure = torch.rand(n) * 60
    monthly = 20 + torch.rand(n) * 100
    calls = torch.poisson(torch.full((n,), 1.5))
    contract = torch.randint(0, 3, (n,))
    usage = torch.randn(n, 6)
    score = -0.05 * tenure + 0.03 * monthly + 0.6 * calls - 1.2 * contract.float() + usage[:, 0] * usage[:, 1]
    label = (score > score.median()).float()
    numeric = torch.stack([tenure, monthly, calls], dim=1)
    numeric = (numeric - numeric.mean(0)) / numeric.std(0)
    one_hot = nn.functional.one_hot(contract, 3).float()
    return torch.cat([numeric, one_hot, usage], dim=1), label.unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = load_accounts(10 * 48)
    data = list(zip(x.split(48), y.split(48)))
    out_act = nn.Sigmoid() if fixed else nn.Softmax(dim=1)
    model = ChurnModel(x.shape[1], out_act)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    bce = nn.BCELoss()

    def loss(model, batch):
        features, target = batch
        return bce(model(features), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
