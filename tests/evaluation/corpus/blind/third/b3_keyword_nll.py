"""Keyword spotting on spectrogram patches with a depthwise CNN."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_keyword_nll",
    "source": "CASES.md E stackoverflow 53813636, rwth-i6/returnn c2c4b866 (missing softmax)",
    "roots": ["missing-activation-for-loss"],
    "description": "NLLLoss gets raw scores instead of log-probabilities: the loss runs to minus infinity",
    "location": "KeywordNet.forward: no log_softmax before nn.NLLLoss",
    "shows_in": "one-batch",
}


class KeywordNet(nn.Module):
    def __init__(self, n_words=7, log_probs=False):
        super().__init__()
        self.log_probs = log_probs
        self.stem = nn.Conv2d(1, 16, 3, padding=1)
        self.depth = nn.Conv2d(16, 16, 3, padding=1, groups=16, stride=2)
        self.point = nn.Conv2d(16, 32, 1)
        self.norm = nn.BatchNorm2d(32)
        self.fc = nn.Linear(32 * 5 * 5, n_words)

    def forward(self, spec):
        h = F.relu(self.stem(spec))
        h = F.relu(self.norm(self.point(self.depth(h))))
        scores = self.fc(h.flatten(1))
        return F.log_softmax(scores, dim=1) if self.log_probs else scores


def make_data(g, n_batches=6, batch=32):
    words = torch.randn(7, 1, 10, 10, generator=g)
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 7, (batch,), generator=g)
        shift = torch.randint(0, 2, (1,), generator=g).item()
        x = torch.roll(words[y], shift, dims=-1) + 0.5 * torch.randn(batch, 1, 10, 10, generator=g)
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 8)
    data = make_data(g)
    model = KeywordNet(log_probs=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.NLLLoss()

    def loss(model, batch):
        spec, word = batch
        return criterion(model(spec), word)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
