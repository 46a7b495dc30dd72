"""Gene-expression subtype classifier with an L1 penalty, trainer class."""
import torch
import torch.nn as nn

META = {
    "id": "b5_l1_penalty_trainer",
    "source": "CASES.md: DeepCrime R1 (l1 regularisation added), TheDeepChecker over_regularization, 51028324",
    "roots": ["too-much-regularization"],
    "description": "the L1 penalty has a coefficient of 0.1 on the sum over all weights: the weights shrink to nothing",
    "location": "Trainer.l1",
    "shows_in": "one-batch",
}


class SubtypeNet(nn.Module):
    def __init__(self, n_genes, n_types):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_genes, 128), nn.ReLU(),
            nn.Linear(128, 64), nn.ReLU(),
            nn.Linear(64, n_types),
        )

    def forward(self, x):
        return self.layers(x)


class Trainer:
    def __init__(self, model, lr, l1):
        self.model = model
        self.l1 = l1
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def penalty(self):
        return sum(p.abs().sum() for name, p in self.model.named_parameters() if name.endswith("weight"))

    def train_step(self, batch):
        self.model.train()
        expression, subtype = batch
        self.optimizer.zero_grad()
        ce = self.criterion(self.model(expression), subtype)
        total = ce + self.l1 * self.penalty()
        total.backward()
        self.optimizer.step()
        return ce.detach()


def samples(n, n_genes, n_types, seed):
    g = torch.Generator().manual_seed(seed)
    shared = torch.Generator().manual_seed(17)
    signature = torch.randn(n_types, n_genes, generator=shared)
    y = torch.randint(0, n_types, (n,), generator=g)
    x = signature[y] + 1.5 * torch.randn(n, n_genes, generator=g)
    return (x - x.mean(0)) / x.std(0), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = samples(8 * 32, 100, 5, seed)
    data = list(zip(x.split(32), y.split(32)))
    model = SubtypeNet(100, 5)
    trainer = Trainer(model, lr=1e-3, l1=1e-6 if fixed else 0.1)
    return {"model": model, "optimizer": trainer.optimizer, "data": data, "step": trainer.train_step}
