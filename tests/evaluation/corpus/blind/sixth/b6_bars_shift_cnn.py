"""Small CNN that tells bar orientations apart, with random shift and noise augmentation."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_bars_shift_cnn",
    "source": "numpy Generator created without seed inside a transform (frequent in augmentation code; seed_everything does not reach it)",
    "roots": ["nondeterministic"],
    "checks": ["is_reproducible"],
    "description": "The augmentation draws from a numpy Generator that is seeded from OS entropy, so no seed reaches it.",
    "location": "ShiftAndNoise.__init__: self.rng = np.random.default_rng()",
}


def make_images(n, gen):
    x = 0.1 * torch.randn(n, 1, 12, 12, generator=gen)
    y = torch.randint(0, 3, (n,), generator=gen)
    pos = torch.randint(2, 10, (n,), generator=gen)
    for i in range(n):
        k = int(pos[i])
        if y[i] == 0:
            x[i, 0, k, 1:11] += 1.0
        elif y[i] == 1:
            x[i, 0, 1:11, k] += 1.0
        else:
            idx = torch.arange(1, 11)
            x[i, 0, idx, (idx + k) % 12] += 1.0
    return x, y


class ShiftAndNoise:
    def __init__(self, max_shift=2, sigma=0.05, rng=None):
        self.max_shift = max_shift
        self.sigma = sigma
        self.rng = rng if rng is not None else np.random.default_rng()

    def __call__(self, x):
        dy, dx = self.rng.integers(-self.max_shift, self.max_shift + 1, size=2)
        x = torch.roll(x, shifts=(int(dy), int(dx)), dims=(2, 3))
        noise = self.rng.normal(0.0, self.sigma, size=tuple(x.shape))
        return x + torch.from_numpy(noise).float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * 9, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.head(x.flatten(1))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    data = [make_images(32, gen) for _ in range(8)]
    augment = ShiftAndNoise(rng=np.random.default_rng(seed)) if fixed else ShiftAndNoise()
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        x, y = batch
        optimizer.zero_grad()
        loss = F.cross_entropy(model(augment(x)), y)
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
