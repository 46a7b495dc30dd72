import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_translate_clip", "source": "own gradient clipping in character models", "roots": ["bad-gradient-clipping"], "checks": [],
 "description": "the clipping helper clamps only from above (max=clip, no min): positive gradients are cut to 1e-3, negative ones pass, the direction is wrong",
 "location": "clip_"}

class CharConv(nn.Module):
    def __init__(self, v=16, d=24):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.c1 = nn.Conv1d(d, 48, 3, padding=1)
        self.c2 = nn.Conv1d(48, 48, 3, padding=1)
        self.o = nn.Linear(48, v)
    def forward(self, s):
        h = self.e(s).transpose(1, 2)
        h = F.relu(self.c1(h)); h = h + F.relu(self.c2(h))
        return self.o(h.transpose(1, 2))

def clip_(params, clip, fixed):
    for p in params:
        if p.grad is None: continue
        if fixed:
            p.grad.clamp_(min=-clip, max=clip)
        else:
            p.grad.clamp_(max=clip)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tab = torch.randperm(16)
    data = []
    for _ in range(8):
        s = torch.randint(0, 16, (32, 12))
        data.append((s, (tab[s] + torch.roll(s, 1, 1) % 2) % 16))
    model = CharConv()
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    def step(batch):
        s, y = batch
        opt.zero_grad()
        loss = F.cross_entropy(model(s).flatten(0, 1), y.flatten())
        loss.backward()
        clip_(model.parameters(), 1e-3, fixed)
        opt.step()
        return loss.item()
    return {"model": model, "optimizer": opt, "data": data, "step": step}
