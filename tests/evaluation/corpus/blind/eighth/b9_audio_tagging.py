import math
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_audio_tagging", "source": "audio tagging (PANNs-like) fine-tuning scripts; clipwise outputs fed to BCEWithLogits",
        "roots": ["double-softmax"], "checks": [],
        "description": "the attention pooling head returns clip-wise probabilities, and the loss applies the sigmoid once more",
        "location": "build: criterion"}


class AttBlock(nn.Module):
    """Attention pooling: frame-wise class probabilities, weighted over time."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.att = nn.Conv1d(n_in, n_out, 1)
        self.cla = nn.Conv1d(n_in, n_out, 1)

    def forward(self, x):
        norm_att = torch.softmax(torch.tanh(self.att(x)), dim=-1)
        cla = torch.sigmoid(self.cla(x))
        return (norm_att * cla).sum(2)


class Cnn(nn.Module):
    def __init__(self, n_mels=20, n_tags=6, ch=40):
        super().__init__()
        self.bn0 = nn.BatchNorm1d(n_mels)
        self.conv1 = nn.Conv1d(n_mels, ch, 3, padding=1)
        self.bn1 = nn.BatchNorm1d(ch)
        self.conv2 = nn.Conv1d(ch, ch, 3, padding=1)
        self.bn2 = nn.BatchNorm1d(ch)
        self.pool = AttBlock(ch, n_tags)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(self.bn0(x))))
        x = F.avg_pool1d(F.relu(self.bn2(self.conv2(x))), 2)
        return {"clipwise_output": self.pool(x)}


def clip_bce(output, target):
    return F.binary_cross_entropy(output["clipwise_output"].clamp(1e-6, 1 - 1e-6), target)


def clip_bce_logits(output, target):
    return F.binary_cross_entropy_with_logits(output["clipwise_output"], target)


def make_events(n, seed, n_mels=20, frames=40, n_tags=6):
    g = torch.Generator().manual_seed(seed + 55)
    profiles = torch.rand(n_tags, n_mels, generator=g) * 2
    tags = (torch.rand(n, n_tags, generator=g) < 0.3).float()
    mel = 0.3 * torch.randn(n, n_mels, frames, generator=g)
    onset = torch.randint(0, frames - 20, (n, n_tags), generator=g)
    for i in range(n):
        for k in range(n_tags):
            if tags[i, k] > 0:
                s = int(onset[i, k])
                mel[i, :, s:s + 20] += profiles[k][:, None]
    return mel, tags


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mel, tags = make_events(480, seed)
    data = [{"mel": m, "target": t} for m, t in zip(mel.split(32), tags.split(32))]
    model = Cnn()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    criterion = clip_bce if fixed else clip_bce_logits

    def train_one(batch):
        model.train()
        optimizer.zero_grad()
        output = model(batch["mel"])
        loss = criterion(output, batch["target"])
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": train_one}
