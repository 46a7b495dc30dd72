from itertools import chain
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_shared_trunk_opts",
        "source": "actor-critic and multi-task repos where both networks contain the same encoder object and each has its own optimizer",
        "roots": ["duplicate-parameters"], "checks": [],
        "description": "The shared encoder is in both optimizers; after one backward of the joint loss each of them applies the same gradient to it.",
        "location": "Learner.__init__: value optimizer over self.critic.parameters()"}


class Encoder(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.l1, self.l2 = nn.Linear(d, h), nn.Linear(h, h)

    def forward(self, x):
        return torch.tanh(self.l2(torch.tanh(self.l1(x))))


class Net(nn.Module):
    def __init__(self, enc, h, out):
        super().__init__()
        self.encoder, self.head = enc, nn.Linear(h, out)

    def forward(self, x):
        return self.head(self.encoder(x))


class Learner:
    """behaviour cloning with a value baseline"""

    def __init__(self, seed, fixed):
        torch.manual_seed(seed)
        enc = Encoder(10, 64)
        self.actor, self.critic = Net(enc, 64, 4), Net(enc, 64, 1)
        value_params = self.critic.head.parameters() if fixed else self.critic.parameters()
        self.opts = {"policy": torch.optim.SGD(self.actor.parameters(), lr=0.15, momentum=0.9),
                     "value": torch.optim.SGD(value_params, lr=0.05, momentum=0.9)}

    def learn(self, b):
        logits, v = self.actor(b["obs"]), self.critic(b["obs"]).squeeze(-1)
        loss = F.cross_entropy(logits, b["action"]) + 0.5 * F.mse_loss(v, b["return"])
        for p in set(chain(self.actor.parameters(), self.critic.parameters())):
            p.grad = None
        loss.backward()
        for o in self.opts.values():
            o.step()
        return loss.item()


def build(fixed=False, seed=0):
    L = Learner(seed, fixed)
    g = torch.Generator().manual_seed(seed + 20)
    wa, wv = torch.randn(10, 4, generator=g), torch.randn(10, generator=g) / 3
    data = []
    for _ in range(18):
        o = torch.randn(40, 10, generator=g)
        data.append({"obs": o, "action": (o @ wa).argmax(1), "return": torch.sin(o @ wv)})
    return {"model": {"actor": L.actor, "critic": L.critic}, "optimizer": L.opts, "data": data, "step": L.learn}
