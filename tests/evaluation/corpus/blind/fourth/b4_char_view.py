"""Captcha-like sequence classification: CNN columns into an LSTM, flattened for the classifier."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_char_view",
    "source": "discuss.pytorch.org/t/lstm-change-batch-first-true-loss-does-not-decrease/62364; CASES.md 42513613",
    "roots": ["batch-mixing"],
    "description": "the time-major LSTM output is reshaped to (batch, -1) without a transpose, which mixes samples",
    "location": "ColumnReader.forward, reshape",
    "shows_in": "full-data",
}


class ColumnReader(nn.Module):
    def __init__(self, fixed, height=8, steps=10, hidden=24, classes=6):
        super().__init__()
        self.fixed = fixed
        self.columns = nn.Conv1d(height, 16, 3, padding=1)
        self.lstm = nn.LSTM(16, hidden)
        self.classifier = nn.Sequential(nn.Linear(steps * hidden, 48), nn.ReLU(), nn.Linear(48, classes))

    def forward(self, image):
        cols = F.relu(self.columns(image)).permute(2, 0, 1)
        out, _ = self.lstm(cols)
        if self.fixed:
            out = out.transpose(0, 1)
        return self.classifier(out.reshape(image.size(0), -1))


def glyphs(n, height=8, steps=10, classes=6):
    label = torch.randint(0, classes, (n,))
    shape = torch.randn(classes, height, steps)
    gain = 0.5 + torch.rand(n, 1, 1)
    return gain * shape[label] + 0.5 * torch.randn(n, height, steps), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    image, label = glyphs(384)
    data = [{"image": image[i:i + 32], "label": label[i:i + 32]} for i in range(0, 384, 32)]
    model = ColumnReader(fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return F.cross_entropy(model(batch["image"]), batch["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
