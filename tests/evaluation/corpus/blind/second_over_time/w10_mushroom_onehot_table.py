import itertools
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "w10_mushroom_onehot_table",
        "source": "UCI mushroom/car-evaluation type tables: six categorical columns, few distinct rows, many repetitions",
        "roots": [],
        "checks": [],
        "description": "Healthy: the population has only 4*3*4*2*3 kinds of rows, so equal rows are seen often and in both splits by nature, with labels drawn per specimen; no sample was copied.",
        "location": ""}

LEVELS = {"cap": 4, "gill": 3, "odor": 4, "ring": 2, "habitat": 3}


class Catalogue:
    def __init__(self, rnd):
        self.rnd = rnd
        self.kinds = list(itertools.product(*(range(k) for k in LEVELS.values())))
        self.weight = [rnd.random() + 0.2 for _ in self.kinds]

    def edible(self, row):
        cap, gill, odor, ring, habitat = row
        z = 2.5 * (odor in (0, 3)) - 2.0 * (gill == 1 and ring == 0) + 1.2 * (cap == habitat) - 1.2
        return 1.0 if self.rnd.random() < 1 / (1 + 2.718 ** (-2.5 * z)) else 0.0

    def collect(self, n):
        rows = self.rnd.choices(self.kinds, self.weight, k=n)
        x = torch.cat([F.one_hot(torch.tensor([r[i] for r in rows]), k) for i, k in enumerate(LEVELS.values())], 1)
        return x.float(), torch.tensor([self.edible(r) for r in rows])


class Edible(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(sum(LEVELS.values()), 32)
        self.logit = nn.Linear(32, 1)

    def forward(self, x):
        return self.logit(F.relu(self.hidden(x)))[:, 0]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cat = Catalogue(random.Random(seed + 407))
    x, y = cat.collect(1600)
    xv, yv = cat.collect(320)
    m = Edible()
    return {"model": m, "optimizer": torch.optim.Adam(m.parameters(), lr=8e-3), "data": list(zip(x.split(40), y.split(40))),
            "val": list(zip(xv.split(80), yv.split(80))),
            "loss": lambda net, b: F.binary_cross_entropy_with_logits(net(b[0]), b[1])}
