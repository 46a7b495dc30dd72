import torch, torch.nn as nn, torch.nn.functional as F

META = {"id": "h9_pointer_sort", "source": "combinatorial optimisation repo", "roots": [], "checks": [],
        "description": "healthy pointer network that sorts numbers, teacher forcing", "location": ""}


class PointerNet(nn.Module):
    def __init__(self, hid=64):
        super().__init__()
        self.embed = nn.Linear(1, hid)
        self.enc = nn.LSTM(hid, hid, batch_first=True)
        self.dec = nn.LSTMCell(hid, hid)
        self.w1 = nn.Linear(hid, hid, bias=False)
        self.w2 = nn.Linear(hid, hid, bias=False)
        self.v = nn.Linear(hid, 1, bias=False)
        self.go = nn.Parameter(torch.randn(hid) * 0.1)

    def forward(self, x, order):
        B, T = x.shape
        e = torch.tanh(self.embed(x[..., None]))
        enc, (h, c) = self.enc(e)
        h, c = h[0], c[0]
        keys = self.w1(enc) + e
        inp, used = self.go.expand(B, -1), torch.zeros(B, T, dtype=torch.bool)
        losses, ar = [], torch.arange(B)
        for t in range(T):
            h, c = self.dec(inp, (h, c))
            scores = self.v(torch.tanh(keys + self.w2(h)[:, None])).squeeze(-1)
            scores = scores.masked_fill(used, float("-inf"))
            losses.append(F.cross_entropy(scores, order[:, t]))
            used = used.clone()
            used[ar, order[:, t]] = True
            inp = e[ar, order[:, t]]
        return torch.stack(losses[:-1]).mean()


def stream(n_batches, bs, g):
    for _ in range(n_batches):
        x = torch.rand(bs, 6, generator=g) * 2 - 1
        yield x, x.argsort(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    net = PointerNet()
    data = list(stream(30, 64, torch.Generator().manual_seed(seed)))
    opt = torch.optim.RMSprop(net.parameters(), lr=2e-3, alpha=0.95)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.999)

    def step(b):
        loss = net(*b)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        opt.step()
        sched.step()
        return loss

    return dict(model=net, optimizer=opt, data=data, step=step)
