import torch
from torch import nn
META = {"id": "b8_scaled_clip_audio", "source": "mixed-precision loops that clip before unscaling", "roots": ["loss-scaler-misuse", "bad-gradient-clipping"], "checks": [],
 "description": "gradients are clipped to norm 1 while still multiplied by the loss scale, and are divided by the scale afterwards: the update is thousands of times too small",
 "location": "AudioTrainer.train_step"}

class StaticScaler:
    def __init__(self, scale=2.0 ** 12):
        self._scale = scale
    def scale(self, loss):
        return loss * self._scale
    def unscale_(self, optimizer):
        for g in optimizer.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad.div_(self._scale)

class AudioTrainer:
    def __init__(self, model, optimizer, clip, fixed):
        self.model, self.optimizer, self.clip, self.fixed = model, optimizer, clip, fixed
        self.scaler = StaticScaler()
        self.crit = nn.CrossEntropyLoss()
    def train_step(self, batch):
        wav, lab = batch
        self.optimizer.zero_grad()
        loss = self.crit(self.model(wav), lab)
        self.scaler.scale(loss).backward()
        if self.fixed:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        else:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.scaler.unscale_(self.optimizer)
        self.optimizer.step()
        return loss.item()

class WavNet(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.front = nn.Conv1d(1, 16, 16, stride=4)
        self.bn = nn.BatchNorm1d(16)
        self.c2 = nn.Conv1d(16, 32, 5, stride=2)
        self.fc = nn.Linear(32, k)
    def forward(self, x):
        x = torch.relu(self.bn(self.front(x)))
        x = torch.relu(self.c2(x))
        return self.fc(x.amax(-1))

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.arange(160) / 160.0
    data = []
    for _ in range(7):
        lab = torch.randint(0, 5, (32,))
        f = 4.0 + 7.0 * lab.float()
        wav = torch.sin(6.2832 * f[:, None] * t + 6.28 * torch.rand(32, 1)) + 0.2 * torch.randn(32, 160)
        data.append((wav.unsqueeze(1), lab))
    model = WavNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    tr = AudioTrainer(model, optimizer, 1.0, fixed)
    return {"model": model, "optimizer": optimizer, "data": data, "step": tr.train_step}
