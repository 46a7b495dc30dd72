import random
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_tree_lstm", "source": "compositional semantics code", "roots": [], "checks": [],
        "description": "healthy recursive child-sum TreeLSTM over Python tuples, logical formulas of different depth, loss at every node",
        "location": ""}


class TreeLSTM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.leaf = nn.Embedding(2, d)
        self.op = nn.Embedding(3, d)
        self.iou = nn.Linear(2 * d, 3 * d)
        self.f = nn.Linear(2 * d, d)
        self.out = nn.Linear(d, 2)
        nn.init.constant_(self.f.bias, 1.0)

    def node(self, x, kids):
        h = sum(k[0] for k in kids) if kids else torch.zeros_like(x)
        i, o, u = self.iou(torch.cat([x, h])).chunk(3)
        c = torch.sigmoid(i) * torch.tanh(u)
        for kh, kc in kids:
            c = c + torch.sigmoid(self.f(torch.cat([x, kh]))) * kc
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree, logits, labels):
        if isinstance(tree, int):
            s, val = self.node(self.leaf.weight[tree], []), tree
        else:
            name, *args = tree
            res = [self(a, logits, labels) for a in args]
            s = self.node(self.op.weight[("and", "or", "not").index(name)], [r[0] for r in res])
            v = [r[1] for r in res]
            val = 1 - v[0] if name == "not" else (v[0] & v[1] if name == "and" else v[0] | v[1])
        logits.append(self.out(s[0]))
        labels.append(val)
        return s, val


def formula(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.randint(0, 1)
    op = rng.choice(["and", "or", "not"])
    return (op, formula(rng, depth - 1)) if op == "not" else (op, formula(rng, depth - 1), formula(rng, depth - 1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    data = [[formula(rng, rng.choice([1, 2, 2, 3])) for _ in range(6)] for _ in range(16)]
    model = TreeLSTM()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)

    def step(trees):
        logits, labels = [], []
        for t in trees:
            model(t, logits, labels)
        loss = F.cross_entropy(torch.stack(logits), torch.tensor(labels))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        return loss.item()

    return {"model": model, "optimizer": opt, "data": data, "step": step}
