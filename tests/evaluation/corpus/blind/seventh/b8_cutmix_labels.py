import torch, torch.nn as nn, torch.nn.functional as F
META = {"id": "b8_cutmix_labels", "source": "home-made mixup / cutmix collators", "roots": ["labels-not-aligned"], "checks": [],
 "description": "images are mixed with one random permutation and labels with another one drawn afresh, so most of the second label does not belong to the second image",
 "location": "Mixer.__call__"}

class Mixer:
    def __init__(self, classes, lam, fixed):
        self.classes, self.lam, self.fixed = classes, lam, fixed
    def shuffle(self, t, perm=None):
        if perm is None:
            perm = torch.randperm(len(t))
        return t[perm]
    def __call__(self, x, y):
        y = F.one_hot(y, self.classes).float()
        perm = torch.randperm(len(x)) if self.fixed else None
        x = self.lam * self.shuffle(x, perm) + (1 - self.lam) * x
        y = self.lam * self.shuffle(y, perm) + (1 - self.lam) * y
        return x, y

class ConvMixer(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(), nn.Flatten())
        self.o = nn.Linear(32 * 4, k)
    def forward(self, x):
        return self.o(self.f(x))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    proto = torch.randn(8, 1, 12, 12)
    data = []
    for _ in range(8):
        y = torch.randint(0, 8, (32,))
        data.append((proto[y] + 0.3 * torch.randn(32, 1, 12, 12), y))
    model = ConvMixer(8)
    mix = Mixer(8, 0.75, fixed)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    def step(batch):
        x, y = mix(*batch)
        opt.zero_grad()
        lp = F.log_softmax(model(x), -1)
        loss = F.kl_div(lp, y, reduction="batchmean")
        loss.backward()
        opt.step()
        return loss.detach()
    return {"model": model, "optimizer": opt, "data": data, "step": step}
