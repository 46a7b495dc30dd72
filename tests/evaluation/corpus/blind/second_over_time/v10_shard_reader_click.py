import random

import torch
import torch.nn as nn

META = {"id": "v10_shard_reader_click",
        "source": "map-style data sets over shards (WebDataset/TFRecord ports): the index within the shard is dropped, so a shard always yields its first record",
        "roots": ["duplicated-samples", "overfitting"],
        "checks": [],
        "description": "The reader returns the first record of the shard for each of the shard's 20 indices: an epoch holds 5 % of the clicks, each twenty times.",
        "location": "ShardReader.__getitem__: offset within the shard"}

USERS, ITEMS, DIM = 60, 40, 4


class ShardReader(torch.utils.data.Dataset):
    def __init__(self, records, per_shard, offsets):
        self.shards = [records[i:i + per_shard] for i in range(0, len(records), per_shard)]
        self.per_shard, self.offsets = per_shard, offsets

    def __len__(self):
        return sum(len(s) for s in self.shards)

    def __getitem__(self, index):
        shard, pos = divmod(index, self.per_shard)
        return self.shards[shard][pos if self.offsets else 0]


def click_log(n, rnd, u, v):
    log = []
    for _ in range(n):
        a, b, hour = rnd.randrange(USERS), rnd.randrange(ITEMS), rnd.random()
        z = 2.5 * float(u[a] @ v[b]) + 2.0 * (hour - 0.5)
        log.append((a, b, hour, float(z + rnd.gauss(0, 0.4) > 0)))
    return log


class ClickNet(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, dim), nn.Embedding(ITEMS, dim)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)
        self.hour = nn.Linear(1, 1)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, user, item, hour):
        match = (self.user(user) * self.item(item)).sum(1)
        return self.scale * match + self.hour(hour[:, None]).squeeze(1)


def collate(rows):
    u, i, h, c = zip(*rows)
    return torch.tensor(u), torch.tensor(i), torch.tensor(h), torch.tensor(c)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rnd = random.Random(seed + 19)
    u, v = torch.randn(USERS, DIM) / 2, torch.randn(ITEMS, DIM)
    train = ShardReader(click_log(4000, rnd, u, v), 20, offsets=fixed)
    test = click_log(400, rnd, u, v)
    order = torch.randperm(len(train)).tolist()
    data = [collate([train[j] for j in order[k:k + 40]]) for k in range(0, len(order), 40)]
    model = ClickNet()
    bce = nn.BCEWithLogitsLoss()
    return {"model": model, "optimizer": torch.optim.Adam(model.parameters(), lr=1e-2), "data": data,
            "val": [collate(test[k:k + 100]) for k in range(0, 400, 100)], "loss": lambda m, b: bce(m(*b[:3]), b[3])}
