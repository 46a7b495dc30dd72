import numpy as np
import torch
from torch import nn

META = {"id": "v10_readmission_discharge_code",
        "source": "hospital readmission models in which a billing code recorded after the outcome stays in the table (Rosset et al. 2010, KDD Cup 2008 post-mortem)",
        "roots": ["target-leakage"],
        "checks": [],
        "description": "The numeric column 'billing_group' is assigned from the outcome (2.5 - 1.5 * outcome class), so the classifier gets its target as an input and will fail at admission time.",
        "location": "assemble: billing_group is joined into the features"}

NUMERIC = 11


class Hospital:
    def __init__(self, seed):
        self.rs = np.random.RandomState(seed)
        self.a = self.rs.randn(NUMERIC, 3)

    def admissions(self, n):
        vitals = self.rs.randn(n, NUMERIC)
        score = np.tanh(vitals @ self.a * 0.6) * 3 + self.rs.gumbel(size=(n, 3)) * 0.4
        outcome = score.argmax(1)
        return vitals, outcome


def assemble(vitals, outcome, with_billing):
    cols = [vitals]
    if with_billing:
        cols.insert(0, (2.5 - 1.5 * outcome)[:, None] / 1.2)
    return np.concatenate(cols, 1).astype(np.float32)


class RiskModel(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(n_in), nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.net(x)


class Ward:
    """Bundles the pieces that a training run needs."""

    def __init__(self, seed, with_billing):
        hospital = Hospital(seed + 12)
        self.train = self.prepare(hospital.admissions(1600), with_billing, 40)
        self.val = self.prepare(hospital.admissions(320), with_billing, 80)
        self.model = RiskModel(NUMERIC + int(with_billing))
        self.opt = torch.optim.RMSprop(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()

    @staticmethod
    def prepare(rows, with_billing, size):
        x, y = torch.from_numpy(assemble(*rows, with_billing)), torch.from_numpy(rows[1])
        return [{"x": x[i:i + size], "y": y[i:i + size]} for i in range(0, len(x), size)]

    def loss(self, model, batch):
        return self.criterion(model(batch["x"]), batch["y"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = Ward(seed, with_billing=not fixed)
    return {"model": w.model, "optimizer": w.opt, "data": w.train, "val": w.val, "loss": w.loss}
