"""A temporal convolution whose weights are initialised, and then normalised."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from pytest_trainhealth import Training


class Temporal(nn.Module):
    def __init__(self):
        super().__init__()
        conv = nn.Conv1d(3, 32, kernel_size=3, padding=1)
        nn.init.kaiming_normal_(conv.weight)
        self.conv = weight_norm(conv)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(torch.relu(self.conv(x)).amax(2))


def training():
    model = Temporal()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    batches = []
    for _ in range(8):
        series, labels = torch.randn(16, 3, 20), torch.randint(4, (16,))
        batches.append((series + labels[:, None, None], labels))
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=batches)
