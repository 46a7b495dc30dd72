import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_credit_line_sgd",
        "source": "tabular beginners' questions on Stack Overflow ('loss stuck / explodes as soon as I add the income column')",
        "roots": ["unnormalized-inputs"],
        "checks": [],
        "description": "Yearly income goes in raw (about 1e5) beside eleven standardised columns; its first-layer activations swamp everything and plain SGD wrecks the network in the first steps.",
        "location": "Applicants.matrix: income is not scaled"}


class Applicants:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def draw(self, n):
        z = torch.randn(n, 11, generator=self.g)
        income = 1e5 * torch.exp(0.3 * torch.randn(n, generator=self.g))
        wealth = (income - 1.05e5) / 3.2e4
        score = 1.2 * z[:, 0] - z[:, 1] + 1.2 * wealth + 0.8 * z[:, 2] * z[:, 3]
        return z, income, (score + 0.3 * torch.randn(n, generator=self.g) > 0).long()

    def matrix(self, n, scale):
        z, income, y = self.draw(n)
        col = (income - 1.05e5) / 3.2e4 if scale else income
        return torch.cat([z[:, :5], col[:, None], z[:, 5:]], 1), y


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Trainer:
    def __init__(self, scale, seed):
        people = Applicants(seed + 70)
        self.train = self.cut(*people.matrix(3840, scale), 32)
        self.held = self.cut(*people.matrix(256, scale), 64)
        self.net = mlp(12, 64, 32, 2)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)

    @staticmethod
    def cut(x, y, n):
        return [(a, b) for a, b in zip(x.split(n), y.split(n))]

    def criterion(self, net, batch):
        return F.cross_entropy(net(batch[0]), batch[1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = Trainer(scale=fixed, seed=seed)
    return {"model": t.net, "optimizer": t.opt, "data": t.train, "val": t.held, "loss": t.criterion}
