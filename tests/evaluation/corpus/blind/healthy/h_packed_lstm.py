"""Sequence classification with packed sequences."""
from typing import NamedTuple

import torch
import torch.nn as nn

META = {
    "id": "h_packed_lstm",
    "description": 'Sequences of very different length packed with enforce_sorted=False; a batch is a NamedTuple; padding holds the value 99 on purpose and must not matter.',
    "roots": [],
}


class Batch(NamedTuple):
    steps: torch.Tensor
    lengths: torch.Tensor
    label: torch.Tensor


class PackedLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 48, num_layers=2, batch_first=True)
        self.head = nn.Linear(48, 3)

    def forward(self, steps, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(steps, lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.lstm(packed)
        return self.head(h[-1])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        label = torch.randint(0, 3, (24,))
        lengths = torch.randint(3, 16, (24,))
        steps = 0.7 * torch.randn(24, 15, 3)
        steps += 0.8 * nn.functional.one_hot(label, 3)[:, None]
        steps[torch.arange(15)[None] >= lengths[:, None]] = 99.0
        data.append(Batch(steps, lengths, label))
    model = PackedLSTM()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        return criterion(model(batch.steps, batch.lengths), batch.label)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
