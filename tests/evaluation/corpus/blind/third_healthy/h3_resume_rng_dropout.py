import torch
import torch.nn.functional as F
from torch import nn

META = {"id": "h3_resume_rng_dropout", "source": "healthy; trainer with full checkpoints",
        "roots": [], "checks": ["resumes_exactly"], "description": "checkpoint holds weights, BN buffers, optimizer, warm-up scheduler, step count and both generators (dropout, augmentation)", "location": ""}


class Trainer:
    def __init__(self, model, gen):
        self.model, self.gen = model, gen
        self.opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda i: min(1.0, (i + 1) / 10) * 0.999 ** i)
        self.global_step = 0

    def step(self, batch):
        x, y = batch
        self.model.train()
        if self.global_step % 2:
            x = x + 0.05 * torch.randn(x.shape, generator=self.gen)
        loss = F.cross_entropy(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.opt.step()
        self.sched.step()
        self.global_step += 1
        return loss.item()

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                    "step": self.global_step, "torch_rng": torch.get_rng_state(), "aug_rng": self.gen.get_state()}, path)

    def load(self, path):
        ck = torch.load(path, weights_only=False)
        self.model.load_state_dict(ck["model"])
        self.opt.load_state_dict(ck["opt"])
        self.sched.load_state_dict(ck["sched"])
        self.global_step = ck["step"]
        torch.set_rng_state(ck["torch_rng"])
        self.gen.set_state(ck["aug_rng"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 46)
    x = torch.randn(32 * 26, 10, generator=g)
    y = (x @ torch.randn(10, 4, generator=g)).argmax(1)
    net = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.15), nn.Linear(64, 4))
    t = Trainer(net, torch.Generator().manual_seed(seed + 1))
    return {"model": net, "optimizer": t.opt, "data": list(zip(x.split(32), y.split(32))),
            "step": t.step, "save": t.save, "load": t.load}
