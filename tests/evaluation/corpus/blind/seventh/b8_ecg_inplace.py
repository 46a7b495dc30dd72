import torch, torch.nn as nn
META = {"id": "b8_ecg_inplace", "source": "augmentation of in-memory biosignals", "roots": ["in-place-modification"], "checks": [],
 "description": "the augmentation writes its jitter and its masking into the stored tensors; the data are more and more corrupted each time a batch is used",
 "location": "Augment.__call__"}

class Augment:
    def __init__(self, sigma=0.4, width=4, copy=True):
        self.sigma, self.width, self.copy = sigma, width, copy
    def __call__(self, sig):
        if self.copy:
            sig = sig.clone()
        sig += self.sigma * torch.randn_like(sig)
        s = int(torch.randint(0, sig.shape[-1] - self.width, (1,)))
        sig[..., s:s + self.width] = 0
        return sig

class ECG(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv1d(2, 12, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(12, 16, 5, padding=2), nn.ReLU())
        self.h = nn.Linear(16 * 32, 3)
    def forward(self, x):
        return self.h(self.c(x).flatten(1))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.linspace(0, 1, 64)
    data = []
    for _ in range(6):
        y = torch.randint(0, 3, (32,))
        f = torch.tensor([3., 5., 8.])[y]
        ph = 0.8 * torch.rand(32, 1)
        s = torch.stack([torch.sin(6.28 * f[:, None] * t + ph), torch.cos(6.28 * f[:, None] * t + ph)], 1)
        data.append([s + 0.1 * torch.randn_like(s), y])
    model = ECG()
    aug = Augment(copy=fixed)
    opt = torch.optim.NAdam(model.parameters(), lr=3e-3)
    lf = nn.CrossEntropyLoss()
    def step(batch):
        x, y = batch
        opt.zero_grad()
        loss = lf(model(aug(x)), y)
        loss.backward()
        opt.step()
        return loss.item()
    return {"model": model, "optimizer": opt, "data": data, "step": step}
