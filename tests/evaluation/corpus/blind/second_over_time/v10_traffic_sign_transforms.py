import numpy as np
import torch
import torch.nn as nn

META = {"id": "v10_traffic_sign_transforms",
        "source": "torchvision users who divide by 255 after ToTensor, which has done so already, in one of two transforms (PyTorch forum: 'train acc 99 %, val acc random, same data')",
        "roots": ["unnormalized-inputs"],
        "checks": [],
        "description": "Training images are divided by 255 and standardised, validation images are divided by 255 twice before that, so they all arrive nearly constant at -1.8 and the validation loss explodes although the model generalises.",
        "location": "build: the transform of the validation split"}

rgb_mean, rgb_std = 0.45, 0.25


class Compose:
    def __init__(self, *fns):
        self.fns = fns

    def __call__(self, x):
        for f in self.fns:
            x = f(x)
        return x


def to_float(img):
    return torch.from_numpy(img.astype(np.float32))


def to_unit(x):
    return x / 255.0


def standardise(x):
    return (x - rgb_mean) / rgb_std


def render(n, rng, s=12):
    """Arrow-like wedges that point in 4 directions, 8 bit."""
    kinds = rng.randint(0, 4, n)
    imgs = np.zeros((n, 3, s, s), np.uint8)
    ii, jj = np.mgrid[0:s, 0:s]
    for k in range(n):
        a, b = rng.randint(4, 8, 2)
        u, v = [(ii - a, jj - b), (a - ii, jj - b), (jj - b, ii - a), (b - jj, ii - a)][kinds[k]]
        wedge = (u >= 0) & (np.abs(v) <= u)
        base = rng.uniform(40, 170, (3, 1, 1))
        fore = rng.uniform(18, 40, (3, 1, 1))
        imgs[k] = np.clip(base + fore * wedge + rng.normal(0, 18, (3, s, s)), 0, 255).astype(np.uint8)
    return imgs, kinds


class SignSet(torch.utils.data.Dataset):
    def __init__(self, n, rng, transform):
        self.imgs, self.kinds = render(n, rng)
        self.transform = transform

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return self.transform(self.imgs[i]), int(self.kinds[i])


class SignNet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24 * 9, 4))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.RandomState(seed + 21)
    train_tf = Compose(to_float, to_unit, standardise)
    val_tf = Compose(to_float, to_unit, standardise) if fixed else Compose(to_float, to_unit, to_unit, standardise)
    train = torch.utils.data.DataLoader(SignSet(1600, rng, train_tf), batch_size=32, shuffle=True,
                                        generator=torch.Generator().manual_seed(seed))
    val = list(torch.utils.data.DataLoader(SignSet(256, rng, val_tf), batch_size=64))
    model = SignNet()
    crit = nn.CrossEntropyLoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=3e-3), "data": train, "val": val,
            "loss": lambda m, b: crit(m(b[0]), b[1])}
