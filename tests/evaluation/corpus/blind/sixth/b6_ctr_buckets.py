"""Click-through model with hashed user buckets and item embeddings."""
import uuid

import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_ctr_buckets",
    "source": "hashing-trick recommenders that hash a freshly made uuid4 session id (own experience; cf. PYTHONHASHSEED threads)",
    "roots": ["nondeterministic"],
    "checks": ["is_reproducible"],
    "description": "User keys are random uuid4 values, therefore every construction of the model maps users to other buckets.",
    "location": "UserRegistry.register: uuid.uuid4()",
}

N_USERS, N_ITEMS, BUCKETS = 40, 30, 64
NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


class UserRegistry:
    def __init__(self, stable):
        self.stable = stable
        self.keys = []

    def register(self, name):
        key = uuid.uuid5(NAMESPACE, name) if self.stable else uuid.uuid4()
        self.keys.append(key)

    def buckets(self, n):
        return torch.tensor([(key.int ^ (key.int >> 64)) % n for key in self.keys])


class CTR(nn.Module):
    def __init__(self, registry, dim=12):
        super().__init__()
        self.bucket_of = registry.buckets(BUCKETS)
        self.user = nn.Embedding(BUCKETS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, users, items):
        u = self.user(self.bucket_of[users])
        i = self.item(items)
        return self.mlp(torch.cat([u, i, u * i], dim=1)).squeeze(1)


def loss_fn(model, batch):
    return F.binary_cross_entropy_with_logits(model(batch["user"], batch["item"]), batch["click"])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 7)
    taste = torch.randn(N_USERS, 2, generator=gen)
    trait = torch.randn(N_ITEMS, 2, generator=gen)
    data = []
    for _ in range(10):
        u = torch.randint(0, N_USERS, (48,), generator=gen)
        i = torch.randint(0, N_ITEMS, (48,), generator=gen)
        click = ((taste[u] * trait[i]).sum(1) > 0).float()
        data.append({"user": u, "item": i, "click": click})
    registry = UserRegistry(stable=fixed)
    for k in range(N_USERS):
        registry.register(f"user-{k}")
    model = CTR(registry)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss_fn}
