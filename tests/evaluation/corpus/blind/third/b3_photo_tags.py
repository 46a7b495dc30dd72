"""Multi-label photo tagging with a small CNN (several tags per photo)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_photo_tags",
    "source": "CASES.md E stackoverflow 46443566 (wrong selection of loss function); own experience",
    "roots": ["wrong-loss-for-task"],
    "description": "cross-entropy with a multi-hot target: the tags compete in one softmax, although several hold at once",
    "location": "criterion: nn.CrossEntropyLoss on multi-hot targets",
    "shows_in": "one-batch",
}

N_TAGS = 6


class TagNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(32 * 9, 64), nn.ReLU(), nn.Linear(64, N_TAGS))

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def make_data(g, n_batches=8, batch=32):
    pattern = torch.randn(N_TAGS, 3, 12, 12, generator=g)
    data = []
    for _ in range(n_batches):
        tags = (torch.rand(batch, N_TAGS, generator=g) < 0.45).float()
        tags[torch.arange(batch), torch.randint(0, N_TAGS, (batch,), generator=g)] = 1.0
        x = torch.einsum("bt,tchw->bchw", tags, pattern)
        x = x + 0.3 * torch.randn(x.shape, generator=g)
        data.append({"image": x / 2, "tags": tags})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 66)
    data = make_data(g)
    model = TagNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss() if fixed else nn.CrossEntropyLoss()

    def loss(model, batch):
        return criterion(model(batch["image"]), batch["tags"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
