"""Minimal trainer with callbacks, image classification."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_callback_trainer", "source": "home-grown trainer classes with hooks (fastai-like)",
        "roots": ["gradients-cleared-before-step", "empty-optimizer-steps", "missing-optimizer-step"], "checks": [],
        "description": "the callback that frees the gradients runs at after_backward, before the optimizer's step",
        "location": "ZeroGradCallback"}


class Callback:
    def before_fit(self, tr): pass
    def before_batch(self, tr): pass
    def after_backward(self, tr): pass
    def after_step(self, tr): pass


class GradNormMeter(Callback):
    def __init__(self):
        self.history = []

    def after_backward(self, tr):
        total = sum(p.grad.pow(2).sum() for p in tr.model.parameters() if p.grad is not None)
        self.history.append(float(total) ** 0.5)
        self.history = self.history[-50:]


class ZeroGradCallback(Callback):
    def __init__(self, when):
        self.when = when

    def after_backward(self, tr):
        if self.when == "after_backward":
            tr.optimizer.zero_grad(set_to_none=False)

    def after_step(self, tr):
        if self.when == "after_step":
            tr.optimizer.zero_grad(set_to_none=False)


class SmoothLoss(Callback):
    def before_fit(self, tr):
        tr.smooth = None

    def after_step(self, tr):
        v = tr.loss.item()
        tr.smooth = v if tr.smooth is None else 0.98 * tr.smooth + 0.02 * v


class Trainer:
    def __init__(self, model, optimizer, loss_fn, callbacks):
        self.model, self.optimizer, self.loss_fn, self.cbs = model, optimizer, loss_fn, callbacks
        self("before_fit")

    def __call__(self, event):
        for cb in self.cbs:
            getattr(cb, event)(self)

    def one_batch(self, batch):
        self.model.train()
        self.xb, self.yb = batch
        self("before_batch")
        self.pred = self.model(self.xb)
        self.loss = self.loss_fn(self.pred, self.yb)
        self.loss.backward()
        self("after_backward")
        self.optimizer.step()
        self("after_step")
        return self.loss.detach()


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.Conv2d(c, c, 3, 1, 1, bias=False)
        self.b1, self.b2 = nn.BatchNorm2d(c), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))


def textures(n, seed, size=12):
    g = torch.Generator().manual_seed(seed + 3)
    y = torch.randint(0, 4, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    ang = y.float() * 0.785
    wave = torch.sin(1.2 * (ang.cos()[:, None, None] * xx + ang.sin()[:, None, None] * yy) + 6.28 * torch.rand(n, 1, 1, generator=g))
    return wave.unsqueeze(1) + 0.5 * torch.randn(n, 1, size, size, generator=g), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1), nn.ReLU(), ResBlock(16), nn.MaxPool2d(2), ResBlock(16),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    cbs = [GradNormMeter(), ZeroGradCallback("after_step" if fixed else "after_backward"), SmoothLoss()]
    trainer = Trainer(model, optimizer, F.cross_entropy, cbs)
    x, y = textures(384, seed)
    return {"model": model, "optimizer": optimizer, "data": list(zip(x.split(32), y.split(32))), "step": trainer.one_batch}
