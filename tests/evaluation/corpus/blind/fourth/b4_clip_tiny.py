"""Polyphonic note detection (multi-label) with an LSTM, SGD and gradient clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_clip_tiny",
    "source": "CASES.md change_gradient_clip; own experience",
    "roots": ["bad-gradient-clipping"],
    "description": "the gradient norm is clipped to 1e-4, so a step moves next to nothing",
    "location": "MAX_NORM in the training step",
    "shows_in": "one-batch",
}

MAX_NORM = 1e-4
NOTES = 6


class NoteNet(nn.Module):
    def __init__(self, bins=20, hidden=40):
        super().__init__()
        self.lstm = nn.LSTM(bins, hidden, batch_first=True)
        self.out = nn.Linear(hidden, NOTES)

    def forward(self, spec):
        h, _ = self.lstm(spec)
        return self.out(h)


def recordings(n, frames=10, bins=20):
    on = (torch.rand(n, frames, NOTES) < 0.35).float()
    timbre = torch.rand(NOTES, bins) ** 3 * 3
    return on @ timbre + 0.1 * torch.randn(n, frames, bins), on


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    spec, on = recordings(160)
    data = list(zip(spec.split(16), on.split(16)))
    model = NoteNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    max_norm = 1.0 if fixed else MAX_NORM

    def train_step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": train_step}
