"""Super-resolution with averaged weights for validation."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_ema_superres", "source": "EMA helpers (store / copy_to / restore) in generative repositories",
        "roots": ["evaluation-changes-state"], "checks": ["evaluates_cleanly"],
        "description": "validation copies the averaged weights into the model and does not restore the trained ones",
        "location": "SRTrainer.validate"}


class ModelEMA:
    def __init__(self, parameters, decay):
        self.decay, self.collected = decay, None
        self.shadow = [p.clone().detach() for p in parameters]

    @torch.no_grad()
    def update(self, parameters):
        for s, p in zip(self.shadow, parameters):
            s.sub_((1 - self.decay) * (s - p))

    def store(self, parameters):
        self.collected = [p.detach().clone() for p in parameters]

    @torch.no_grad()
    def copy_to(self, parameters):
        for s, p in zip(self.shadow, parameters):
            p.copy_(s)

    @torch.no_grad()
    def restore(self, parameters):
        for c, p in zip(self.collected, parameters):
            p.copy_(c)
        self.collected = None


class ESPCN(nn.Module):
    def __init__(self, ch=20, up=2):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, ch, 5, padding=2), nn.Tanh(), nn.Conv2d(ch, ch, 3, padding=1), nn.Tanh(),
                                 nn.Conv2d(ch, up ** 2, 3, padding=1), nn.PixelShuffle(up))
        self.up = up

    def forward(self, x):
        return F.interpolate(x, scale_factor=self.up, mode="bilinear", align_corners=False) + self.net(x)


class SRTrainer:
    def __init__(self, model, val, fixed):
        self.model, self.val, self.fixed = model, val, fixed
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.ema = ModelEMA(model.parameters(), decay=0.98)

    def train_step(self, batch):
        lr, hr = batch
        self.model.train()
        self.optimizer.zero_grad()
        loss = F.l1_loss(self.model(lr), hr)
        loss.backward()
        self.optimizer.step()
        self.ema.update(self.model.parameters())
        return loss.item()

    @torch.no_grad()
    def validate(self):
        training = self.model.training
        self.model.eval()
        self.ema.store(self.model.parameters())
        self.ema.copy_to(self.model.parameters())
        mse = sum(F.mse_loss(self.model(lr), hr).item() for lr, hr in self.val) / len(self.val)
        if self.fixed:
            self.ema.restore(self.model.parameters())
        self.model.train(training)
        return {"psnr": -10 * torch.log10(torch.tensor(mse)).item()}


def patches(n, seed, size=16):
    g = torch.Generator().manual_seed(seed + 26)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    ang = torch.rand(n, 1, 1, generator=g) * 3.14
    off = torch.rand(n, 1, 1, generator=g) * 6
    edge = torch.cos(ang) * (xx - size / 2) + torch.sin(ang) * (yy - size / 2)
    hr = torch.tanh(2 * torch.sin(0.7 * edge + off)).unsqueeze(1) * 0.5
    return F.avg_pool2d(hr, 2), hr


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    lr, hr = patches(288, seed)
    pairs = list(zip(lr.split(16), hr.split(16)))
    trainer = SRTrainer(ESPCN(), pairs[16:], fixed)
    return {"model": trainer.model, "optimizer": trainer.optimizer, "data": pairs[:16],
            "step": trainer.train_step, "evaluate": trainer.validate}
