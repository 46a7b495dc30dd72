"""Multi-label tagging of sound clips: up to five of ten sources at once."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_multilabel",
    "source": "DeepCrime operator change_loss_function",
    "roots": ["wrong-loss-for-task"],
    "description": "softmax cross-entropy on multi-hot targets: the tags compete with each other and the loss can't reach its floor of zero",
    "location": "F.cross_entropy(logits, tags)",
    "shows_in": "one-batch",
}


class TagNet(nn.Module):
    def __init__(self, n_mels=16, n_tags=10):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(n_mels, 32, 3, padding=1), nn.ReLU(),
            nn.Conv1d(32, 48, 3, padding=1), nn.ReLU(),
        )
        self.fc = nn.Linear(48, n_tags)

    def forward(self, mel):
        h = self.conv(mel)
        return self.fc(h.amax(-1))


def make_data(n_batches=8, batch_size=32, frames=20):
    spectra = torch.rand(10, 16) * 2
    data = []
    for _ in range(n_batches):
        tags = (torch.rand(batch_size, 10) < 0.3).float()
        tags[torch.arange(batch_size), torch.randint(0, 10, (batch_size,))] = 1.0
        when = (torch.rand(batch_size, 10, frames) < 0.5).float()
        mel = torch.einsum("bk,bkt,kf->bft", tags, when, spectra)
        mel = torch.log1p(mel + 0.1 * torch.rand_like(mel)) - 0.8
        data.append((mel, tags))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TagNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        mel, tags = batch
        logits = model(mel)
        if fixed:
            return F.binary_cross_entropy_with_logits(logits, tags)
        return F.cross_entropy(logits, tags)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
