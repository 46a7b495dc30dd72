import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_video_lstm", "source": "CNN-LSTM video repositories (view in place of transpose before a time-first LSTM)",
        "roots": ["batch-mixing", "labels-not-aligned"], "checks": [],
        "description": "(N, T, C) features are reshaped into (T, N, C) with view, so that one sequence holds frames of several clips",
        "location": "CRNN.forward"}


class FrameCNN(nn.Module):
    def __init__(self, out=24):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten())
        self.fc = nn.Linear(16 * 9, out)

    def forward(self, x):
        return F.relu(self.fc(self.net(x)))


class CRNN(nn.Module):
    def __init__(self, n_classes, feat=32, hidden=48, fixed=False):
        super().__init__()
        self.cnn = FrameCNN(feat)
        self.rnn = nn.LSTM(feat, hidden)
        self.classifier = nn.Linear(hidden, n_classes)
        self.fixed = fixed

    def forward(self, clips):
        n, t, c, h, w = clips.shape
        feats = self.cnn(clips.reshape(n * t, c, h, w)).view(n, t, -1)
        if self.fixed:
            seq = feats.transpose(0, 1)
        else:
            seq = feats.view(t, n, -1)
        out, _ = self.rnn(seq)
        return self.classifier(out[-1])


def moving_squares(n, seed, t=6, size=12):
    g = torch.Generator().manual_seed(seed + 67)
    y = torch.randint(0, 4, (n,), generator=g)
    vel = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])[y]
    start = torch.randint(4, 7, (n, 2), generator=g)
    clips = torch.zeros(n, t, 1, size, size)
    for i in range(n):
        for k in range(t):
            r, c = ((start[i] + k * vel[i]) % size).tolist()
            rows = [(r + d) % size for d in range(3)]
            cols = [(c + d) % size for d in range(3)]
            for rr in rows:
                clips[i, k, 0, rr, cols] = 1.0
    return clips + 0.05 * torch.randn(clips.shape, generator=g), y


class VideoTrainer:
    def __init__(self, net, base_lr, total):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=base_lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=total, eta_min=base_lr * 0.2)
        self.it, self.total = 0, total

    def step(self, batch):
        clips, labels = batch
        self.net.train()
        logits = self.net(clips)
        loss = F.cross_entropy(logits, labels)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.it += 1
        if self.it <= self.total:
            self.sched.step()
        return loss.detach()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    clips, labels = moving_squares(512, seed)
    data = list(zip(clips.split(16), labels.split(16)))
    trainer = VideoTrainer(CRNN(4, fixed=fixed), base_lr=3e-3, total=800)
    return {"model": trainer.net, "optimizer": trainer.opt, "data": data, "step": trainer.step}
