"""Bird-call classification on small spectrograms, CNN ported from TensorFlow 1."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_birds_dropout_keep",
    "source": "CASES.md: TheDeepChecker SO IPS_12 (keep_prob passed as rate), 44695141",
    "roots": ["too-much-regularization"],
    "description": "keep_prob=0.95 of the TensorFlow code became nn.Dropout(0.95): 95 % of the units are dropped, twice",
    "location": "BirdNet.drop1, BirdNet.drop2",
    "shows_in": "one-batch",
}

KEEP_PROB = 0.95


class BirdNet(nn.Module):
    def __init__(self, n_species, rate):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 4 * 4, 96)
        self.fc2 = nn.Linear(96, n_species)
        self.drop1 = nn.Dropout(rate)
        self.drop2 = nn.Dropout(rate)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.drop1(x.flatten(1))
        x = self.drop2(F.relu(self.fc1(x)))
        return self.fc2(x)


def spectrograms(n, n_species, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_species, (n,), generator=g)
    t = torch.arange(16).float()
    slope = (y.float() - n_species / 2).view(n, 1) * 0.35
    centre = 8 + slope * (t - 8) / 2 + torch.randn(n, 1, generator=g)
    freq = torch.arange(16).float().view(1, 16, 1)
    spec = torch.exp(-((freq - centre.unsqueeze(1)) ** 2) / 3)
    spec = spec + 0.1 * torch.randn(n, 16, 16, generator=g)
    return ((spec - spec.mean()) / spec.std()).unsqueeze(1), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    spec, species = spectrograms(6 * 32, 6, seed)
    data = list(zip(spec.split(32), species.split(32)))
    model = BirdNet(6, rate=1 - KEEP_PROB if fixed else KEEP_PROB)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        x, y = batch
        return F.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
