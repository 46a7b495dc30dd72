"""Speech-command classification, 1-d CNN, StepLR schedule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_steplr_per_batch",
    "source": "ivadomed PR 55, Auto-PyTorch PR 210 (scheduler stepped per batch in place of per epoch)",
    "roots": ["scheduler-misuse", "lr-decayed-too-early"],
    "description": "StepLR(step_size=5 epochs) is stepped after every batch: the learning rate is gone after a few dozen batches",
    "location": "step: scheduler.step()",
    "shows_in": "one-batch",
}


class CommandNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 9, stride=3)
        self.bn1 = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 5, stride=2)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32 * 4, n_classes)

    def forward(self, wave):
        x = F.relu(self.bn1(self.conv1(wave)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(F.adaptive_max_pool1d(x, 4).flatten(1))


def waves(n, g):
    y = torch.randint(0, 8, (n,), generator=g)
    t = torch.linspace(0, 1, 96)
    f = 3.0 + 2.5 * y.float().view(-1, 1)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    x = torch.sin(6.28 * f * t + phase) + 0.3 * torch.randn(n, 96, generator=g)
    return x.unsqueeze(1), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = waves(10 * 32, g)
    data = list(zip(x.split(32), y.split(32)))
    model = CommandNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    steps_per_epoch = len(data)
    seen = 0

    def step(batch):
        nonlocal seen
        wave, command = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(wave), command)
        loss.backward()
        optimizer.step()
        seen += 1
        if not fixed or seen % steps_per_epoch == 0:
            scheduler.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
