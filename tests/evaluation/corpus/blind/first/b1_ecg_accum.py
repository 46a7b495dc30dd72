"""ECG beat classification; each batch is processed in eight micro-batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_ecg_accum",
    "source": "PyTorch forum classic: gradient accumulation without dividing the loss",
    "roots": ["accumulation-not-scaled"],
    "description": "the losses of eight micro-batches are accumulated without dividing by eight",
    "location": "step: loss.backward() in the micro-batch loop",
    "shows_in": "full-data",
}


class BeatNet(nn.Module):
    def __init__(self, n_beats=5):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 12, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(12, 24, 5, stride=2, padding=2)
        self.fc = nn.Linear(24 * 10, n_beats)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def make_beats(n, n_beats=5, length=40):
    t = torch.linspace(-1, 1, length)
    label = torch.randint(0, n_beats, (n,))
    width = torch.linspace(0.05, 0.25, n_beats)[label].unsqueeze(1)
    dip = torch.linspace(-0.6, 0.6, n_beats).flip(0)[label].unsqueeze(1)
    shift = 0.1 * torch.randn(n, 1)
    x = torch.exp(-((t - shift) / width) ** 2) + dip * torch.exp(-((t - 0.5 - shift) / 0.15) ** 2)
    x = x + 0.05 * torch.randn(n, length)
    x = (x - x.mean()) / x.std()
    return x.unsqueeze(1), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs, micro_batches = 64, 8
    x, label = make_beats(8 * bs)
    data = list(zip(x.split(bs), label.split(bs)))
    model = BeatNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(batch):
        x, label = batch
        optimizer.zero_grad()
        total = 0.0
        for xb, yb in zip(x.chunk(micro_batches), label.chunk(micro_batches)):
            loss = F.cross_entropy(model(xb), yb)
            if fixed:
                loss = loss / micro_batches
                total += loss.detach()
            else:
                total += loss.detach() / micro_batches
            loss.backward()
        optimizer.step()
        return total

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
