"""Length of stay (regression) from one feature file per patient and a label table, dict batches."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {
    "id": "b7_patient_files",
    "source": "own; pattern: sorted(os.listdir()) against a table in numeric order",
    "roots": ["labels-not-aligned"],
    "checks": ["data_is_healthy"],
    "description": "The files are read in the order of their names (1, 10, 100, 101, ...), the labels in the order of the patient number.",
    "location": "pairing of inputs and targets in training and validation data",
}


class Stays(Dataset):
    def __init__(self, n, seed, key):
        rng = np.random.default_rng(seed)
        weights = np.random.default_rng(3).normal(size=16) / 4
        files = {}
        stay = np.empty(n, np.float32)
        for number in range(1, n + 1):
            v = rng.normal(size=16).astype(np.float32)
            files[f"patient_{number}.npy"] = v
            stay[number - 1] = v @ weights * 2 + 0.5 * abs(v[3]) - 0.4 + rng.normal(0, 0.2)
        self.features = [files[name] for name in sorted(files, key=key)]
        self.stay = stay

    def __len__(self):
        return len(self.stay)

    def __getitem__(self, i):
        return {"features": torch.from_numpy(self.features[i]), "target": torch.tensor(self.stay[i])}


def number_of(name):
    return int(name.split("_")[1].split(".")[0])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    key = number_of if fixed else None
    train, val = Stays(800, seed, key), Stays(150, seed + 40, key)
    model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["features"]).squeeze(-1), batch["target"])

    g = torch.Generator().manual_seed(seed)
    return {
        "model": model,
        "optimizer": optimizer,
        "data": DataLoader(train, batch_size=40, shuffle=True, generator=g),
        "loss": loss,
        "val": DataLoader(val, batch_size=75),
    }
