"""Deep residual 1-D network with weight normalisation and a small initialisation of the residual branches."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

META = {
    "id": "b6_wn_resnet",
    "source": "init applied after weight_norm (vocoder code: init_weights on weight-normed convolutions; CASES.md A: pytorch-51800 for spectral_norm)",
    "roots": ["bad-initialization"],
    "checks": [],
    "description": "The intended small weights are written into the tensor that weight_norm recomputes from g and v at every access, so the initialisation is lost and activations grow through the depth.",
    "location": "ResBlock.__init__: init_branch(self.conv2) after weight_norm",
}


def init_branch(conv, std):
    with torch.no_grad():
        conv.weight.normal_(0.0, std)
        conv.bias.zero_()


class ResBlock(nn.Module):
    def __init__(self, c, init_first):
        super().__init__()
        conv1 = nn.Conv1d(c, c, 3, padding=1)
        conv2 = nn.Conv1d(c, c, 3, padding=1)
        if init_first:
            init_branch(conv1, 0.1)
            init_branch(conv2, 0.02)
        self.conv1, self.conv2 = weight_norm(conv1), weight_norm(conv2)
        if not init_first:
            init_branch(self.conv1, 0.1)
            init_branch(self.conv2, 0.02)

    def forward(self, x):
        return x + 4.0 * self.conv2(F.relu(self.conv1(x)))


class Net(nn.Module):
    def __init__(self, c=12, depth=8, init_first=False):
        super().__init__()
        self.stem = nn.Conv1d(1, c, 3, padding=1)
        self.blocks = nn.Sequential(*[ResBlock(c, init_first) for _ in range(depth)])
        self.head = nn.Linear(c, 2)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(-1))


def loss_fn(model, batch):
    x, y = batch
    return F.mse_loss(model(x), y)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    t = torch.arange(20).float()
    data = []
    for _ in range(8):
        f = 0.3 + 0.9 * torch.rand(24, 1)
        a = 0.5 + torch.rand(24, 1)
        x = a * torch.sin(f * t + 6.28 * torch.rand(24, 1))
        data.append((x.unsqueeze(1), torch.cat([2 * f - 1.5, a - 1], dim=1)))
    model = Net(init_first=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
