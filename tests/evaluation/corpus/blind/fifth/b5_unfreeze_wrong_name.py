"""Gradual unfreezing of an audio network, selected by module name."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_unfreeze_wrong_name",
    "source": "own experience; ULMFiT-style unfreezing with module names of another architecture",
    "roots": ["frozen-parameters"],
    "description": "everything is frozen, then 'layer2'/'layer3' are unfrozen by prefix, but the modules are called 'stage2'/'stage3': only the tiny head learns",
    "location": "set_trainable prefixes; AudioNet.stage1..3 have requires_grad=False",
    "shows_in": "one-batch",
}


class AudioNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv1d(1, 12, 7, stride=2), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv1d(12, 24, 5, stride=2), nn.ReLU())
        self.stage3 = nn.Sequential(nn.Conv1d(24, 12, 3, stride=2), nn.ReLU())
        self.classifier = nn.Linear(12, n_classes)

    def forward(self, x):
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.classifier(x.mean(-1))


def set_trainable(model, prefixes):
    for name, p in model.named_parameters():
        p.requires_grad = name.startswith(tuple(prefixes))


def clips(n, g):
    y = torch.randint(0, 8, (n,), generator=g)
    t = torch.linspace(0, 1, 80)
    f = 3.0 + 2.0 * y.float().view(-1, 1)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    wave = torch.sin(6.28 * f * t + phase) + 0.15 * torch.randn(n, 80, generator=g)
    return wave.unsqueeze(1), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    wave, label = clips(8 * 32, g)
    data = list(zip(wave.split(32), label.split(32)))
    model = AudioNet()
    if fixed:
        set_trainable(model, ["stage1", "stage2", "stage3", "classifier"])
    else:
        set_trainable(model, ["layer1", "layer2", "layer3", "classifier"])
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=5e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
