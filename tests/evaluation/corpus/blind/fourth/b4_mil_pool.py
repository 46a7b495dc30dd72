"""Multiple-instance learning: a bag is positive if one of its instances is; attention pooling."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_mil_pool",
    "source": "own experience; forum pattern 'softmax over the wrong dim in attention pooling'",
    "roots": ["batch-mixing"],
    "description": "the attention weights are normalised over dim 0, the bags of the batch, instead of the instances of a bag",
    "location": "AttentionPool.forward, softmax dim",
    "shows_in": "one-batch",
}


class AttentionPool(nn.Module):
    def __init__(self, dim, hidden=32, axis=0):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.axis = axis

    def forward(self, h):
        weights = torch.softmax(self.score(h), dim=self.axis)
        return (weights * h).sum(1), weights


class BagClassifier(nn.Module):
    def __init__(self, axis):
        super().__init__()
        self.instance = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.pool = AttentionPool(32, axis=axis)
        self.out = nn.Linear(32, 1)

    def forward(self, bags):
        pooled, weights = self.pool(self.instance(bags))
        return self.out(pooled).squeeze(1), weights


class MILTrainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def __call__(self, batch):
        bags, label = batch
        self.model.train()
        logits, _ = self.model(bags)
        loss = F.binary_cross_entropy_with_logits(logits, label)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n, size = 320, 8
    bags = torch.randn(n, size, 10)
    label = (torch.rand(n) > 0.5).float()
    key = torch.randn(10)
    key = 3.5 * key / key.norm()
    where = torch.randint(0, size, (n,))
    bags[torch.arange(n), where] += label[:, None] * key
    data = list(zip(bags.split(40), label.split(40)))
    trainer = MILTrainer(BagClassifier(axis=1 if fixed else 0), lr=3e-3)
    return {"model": trainer.model, "optimizer": trainer.opt, "data": data, "step": trainer}
