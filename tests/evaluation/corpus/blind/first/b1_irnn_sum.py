"""ReLU RNN (identity initialisation) that tells which machine drew most power over a day."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_irnn_sum",
    "source": "CASES.md C 53848232, 36565430 (exploding gradient), as an IRNN without clipping",
    "roots": ["exploding-gradients"],
    "description": "a ReLU RNN over 40 steps is trained without gradient clipping: the gradient explodes through time",
    "location": "step: no clipping; IRNN.rnn",
    "shows_in": "one-batch",
}


class IRNN(nn.Module):
    def __init__(self, n_in, n_out, hidden=48):
        super().__init__()
        self.rnn = nn.RNN(n_in, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, n_out)
        nn.init.eye_(self.rnn.weight_hh_l0)
        nn.init.normal_(self.rnn.weight_ih_l0, std=0.1)
        nn.init.zeros_(self.rnn.bias_ih_l0)
        nn.init.zeros_(self.rnn.bias_hh_l0)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


def make_days(n, n_machines, length=40):
    top = torch.randint(0, n_machines, (n,))
    level = 0.2 + 0.4 * torch.rand(n, 1, n_machines)
    level[torch.arange(n), 0, top] = 0.8
    power = level + 0.3 * torch.randn(n, length, n_machines)
    return power.clamp(min=0), power.clamp(min=0).sum(1).argmax(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, n_machines = 32, 4
    x, y = make_days(8 * bs, n_machines)
    data = list(zip(x.split(bs), y.split(bs)))
    model = IRNN(n_machines, n_machines)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
