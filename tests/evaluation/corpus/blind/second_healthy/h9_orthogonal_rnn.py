import torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.utils.parametrizations import orthogonal

META = {"id": "h9_orthogonal_rnn", "source": "long-memory RNN study", "roots": [], "checks": [],
        "description": "healthy orthogonal recurrent matrix (parametrisation) with modReLU on a recall task, separate rate for the recurrence",
        "location": ""}


class ModReLU(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.b = nn.Parameter(torch.full((n,), -0.01))

    def forward(self, x):
        return x.sign() * F.relu(x.abs() + self.b)


class OrthRNN(nn.Module):
    def __init__(self, vocab=10, n=48):
        super().__init__()
        self.inp = nn.Embedding(vocab, n)
        self.rec = orthogonal(nn.Linear(n, n, bias=False), orthogonal_map="cayley")
        self.act = ModReLU(n)
        self.out = nn.Linear(n, vocab)
        nn.init.normal_(self.inp.weight, std=0.3)

    def forward(self, tokens):
        W = self.rec.weight
        h = torch.zeros(len(tokens), W.shape[0])
        ys = []
        for x in self.inp(tokens).unbind(1):
            h = self.act(h @ W.T + x)
            ys.append(h)
        return self.out(torch.stack(ys, 1))


def recall(n, g, delay=6):
    sym = torch.randint(1, 9, (n, 2), generator=g)
    x = torch.zeros(n, 2 + delay + 2, dtype=torch.long)
    x[:, :2], x[:, -2] = sym, 9                         # 9 asks for the answer
    y = torch.full_like(x, -1)
    y[:, -2:] = sym
    return x, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = [recall(48, g) for _ in range(16)]
    net = OrthRNN()
    rec = list(net.rec.parameters())
    rest = [p for n, p in net.named_parameters() if not n.startswith("rec.")]
    opt = torch.optim.RMSprop([{"params": rec, "lr": 1e-3}, {"params": rest, "lr": 4e-3}], alpha=0.9)

    def step(batch):
        x, y = batch
        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten(), ignore_index=-1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
