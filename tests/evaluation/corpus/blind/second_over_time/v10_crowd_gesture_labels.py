import numpy as np
import torch
import torch.nn as nn

META = {"id": "v10_crowd_gesture_labels",
        "source": "crowd-sourced activity data (e.g. Zhang et al. 2017 with random labels; cleanlab reports on crowd-annotated sets)",
        "roots": ["label-noise", "overfitting"],
        "checks": [],
        "description": "Half of the training labels were guessed at random by crowd workers (37 % are wrong), the validation labels come from experts; the net learns the noise by heart and gets worse on clean data.",
        "location": "Annotator.label: share of answers that are guesses"}

CLASSES, CHANNELS = 4, 16


class Annotator:
    def __init__(self, rng, guess):
        self.rng, self.guess = rng, guess

    def label(self, truth):
        lazy = self.rng.rand(len(truth)) < self.guess
        return np.where(lazy, self.rng.randint(0, CLASSES, len(truth)), truth)


def record(n, rng, centers):
    truth = rng.randint(0, CLASSES, n)
    which = rng.randint(0, 2, n)
    x = centers[truth, which] + rng.randn(n, CHANNELS)
    return x.astype(np.float32), truth


class GestureMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(CHANNELS, 192), nn.Linear(192, 192)])
        self.cls = nn.Linear(192, CLASSES)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.cls(x)


class Collector:
    def __init__(self, x, y, size):
        self.x, self.y, self.size = torch.from_numpy(x), torch.from_numpy(y).long(), size

    def batches(self):
        return [{"imu": self.x[i:i + self.size], "gesture": self.y[i:i + self.size]}
                for i in range(0, len(self.x), self.size)]


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.RandomState(seed + 31)
    centers = rng.randn(CLASSES, 2, CHANNELS) * 1.1
    crowd, expert = Annotator(rng, 0.0 if fixed else 0.5), Annotator(rng, 0.0)
    x, t = record(640, rng, centers)
    xv, tv = record(320, rng, centers)
    model = GestureMLP()
    ce = nn.CrossEntropyLoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=2e-3),
            "data": Collector(x, crowd.label(t), 32).batches(), "val": Collector(xv, expert.label(tv), 80).batches(),
            "loss": lambda m, b: ce(m(b["imu"]), b["gesture"])}
