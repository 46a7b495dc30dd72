import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_accum_speaker",
        "source": "speech recipes with update_freq: the accumulation window is re-opened before its gradients are used",
        "roots": ["gradients-cleared-before-step", "empty-optimizer-steps"], "checks": [],
        "description": "At the end of an accumulation window the gradients are zeroed before optimizer.step(), which then only applies weight decay.",
        "location": "Brain.fit_batch: _open_window() before optimizer.step()"}


class XVector(nn.Module):
    def __init__(self, feats=20, spk=6):
        super().__init__()
        self.tdnn = nn.Sequential(nn.Conv1d(feats, 32, 3), nn.ReLU(), nn.Conv1d(32, 32, 3, dilation=2), nn.ReLU())
        self.out = nn.Linear(64, spk)

    def forward(self, x):
        h = self.tdnn(x)
        return self.out(torch.cat([h.mean(-1), h.std(-1)], 1))


class Brain:
    def __init__(self, module, optimizer, update_freq, fixed):
        self.module, self.optimizer, self.update_freq, self.fixed = module, optimizer, update_freq, fixed

    def _open_window(self):
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.zero_()

    def compute_objectives(self, feats, spk):
        return F.cross_entropy(self.module(feats), spk)

    def fit_batch(self, batch):
        feats, spk = batch
        if self.fixed:
            self._open_window()
        parts = list(zip(feats.chunk(self.update_freq), spk.chunk(self.update_freq)))
        running = 0.0
        for i, (f, s) in enumerate(parts):
            loss = self.compute_objectives(f, s) / len(parts)
            loss.backward()
            running += loss.item()
            if i + 1 == len(parts):
                if not self.fixed:
                    self._open_window()
                nn.utils.clip_grad_norm_(self.module.parameters(), 5.0)
                self.optimizer.step()
        return running


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 4)
    voice = torch.randn(6, 20, 1, generator=g)
    batches = []
    for _ in range(16):
        s = torch.randint(0, 6, (24,), generator=g)
        batches.append((0.6 * voice[s] + torch.randn(24, 20, 20, generator=g), s))
    net = XVector()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
    brain = Brain(net, opt, 4, fixed)
    return {"model": net, "optimizer": opt, "data": batches, "step": brain.fit_batch}
