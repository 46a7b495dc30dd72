import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

META = {"id": "t9_steel_plates", "source": "steel surface inspection repository, list of files read once per annotation",
        "roots": ["duplicated-samples"], "checks": ["data_is_healthy"],
        "description": "the index holds the same few plates sixteen times over",
        "location": "read_index: every shard reads the first page again"}


def photograph(plate, defect, g):
    img = 0.4 * torch.randn(1, 10, 10, generator=g)
    row = int(torch.randint(1, 9, (1,), generator=g))
    if defect == 1:
        img[0, row, :] += 1.5
    elif defect == 2:
        img[0, :, row] += 1.5
    elif defect == 3:
        img[0, row - 1:row + 2, 3:6] += 1.5
    return img


def read_index(n_shards, per_shard, paging):
    plates = []
    for shard in range(n_shards):
        offset = shard * per_shard if paging else 0
        plates.extend(range(offset, offset + per_shard))
    return plates


class Plates(Dataset):
    def __init__(self, index, store):
        self.index, self.store = index, store

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        image, defect = self.store[self.index[i]]
        return {"image": image, "defect": defect}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    random.seed(seed)
    g = torch.Generator().manual_seed(seed + 50)
    store = {p: (photograph(p, p % 4, g), p % 4) for p in range(1280)}
    index = read_index(n_shards=16, per_shard=64, paging=fixed)
    random.shuffle(index)
    loader = DataLoader(Plates(index, store), batch_size=32)
    val = list(DataLoader(Plates(list(range(1024, 1280)), store), batch_size=64))
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 25, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss_fn(model, batch):
        return nn.functional.cross_entropy(model(batch["image"]), batch["defect"])

    return {"model": model, "optimizer": optimizer, "data": loader, "val": val, "loss": loss_fn}
