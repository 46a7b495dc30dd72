"""A similarity of long vectors, whose squares are summed in float32."""

import torch
from torch import nn

from pytest_trainhealth import Training


class Matcher(nn.Module):
    """Which of eight prototypes is nearest in direction?"""

    def __init__(self, width=64):
        super().__init__()
        self.encode = nn.Linear(32, width)
        self.prototypes = nn.Linear(width, 8, bias=False)

    def forward(self, x):
        code = 100 * self.encode(x).float()
        length = (code * code).sum(dim=1, keepdim=True).sqrt()
        return 10 * self.prototypes(code / length)


def training():
    model = Matcher()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    inputs, labels = torch.randn(16, 32), torch.randint(8, (16,))
    data = (inputs, labels)
    return Training(model, optimizer, criterion=nn.CrossEntropyLoss(), data=data, precision="float16")
