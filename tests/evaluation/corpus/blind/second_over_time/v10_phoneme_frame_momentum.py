import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "v10_phoneme_frame_momentum",
        "source": "speech frame classifiers whose lr was scaled linearly for 64 GPUs and then run on one (linear scaling rule without the scale)",
        "roots": ["lr-too-high"],
        "checks": [],
        "description": "SGD with momentum 0.9 and a learning rate of 3.2 overshoots at every step: the loss jumps up and down far above what the data allow and never settles.",
        "location": "Recipe.lr: base_lr times world size"}


class Recipe:
    base_lr, momentum = 0.05, 0.9

    def __init__(self, world):
        self.lr = self.base_lr * world


def frames(n, rng, proto, ctx=3):
    """Stacked frames: each phoneme glides from one prototype to another."""
    ph = rng.integers(0, 6, n)
    pos = np.linspace(0, 1, ctx)[None, :, None]
    x = proto[ph, 0][:, None] * (1 - pos) + proto[ph, 1][:, None] * pos
    x = x + 0.9 * rng.standard_normal(x.shape)
    return torch.tensor(x.reshape(n, -1), dtype=torch.float32), torch.tensor(ph)


class FrameDNN(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.h1, self.h2, self.o = nn.Linear(n_in, 64), nn.Linear(64, 64), nn.Linear(64, 6)

    def forward(self, x):
        return self.o(torch.tanh(self.h2(torch.tanh(self.h1(x)))))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 6)
    proto = rng.standard_normal((6, 2, 10)) * 0.7
    recipe = Recipe(world=1 if fixed else 64)
    x, y = frames(3840, rng, proto)
    xv, yv = frames(300, rng, proto)
    model = FrameDNN(30)
    opt = torch.optim.SGD(model.parameters(), lr=recipe.lr, momentum=recipe.momentum)
    return {"model": model, "optimizer": opt, "data": list(zip(x.split(32), y.split(32))),
            "val": list(zip(xv.split(60), yv.split(60))), "loss": lambda m, b: F.cross_entropy(m(b[0]), b[1])}
