import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "b9_protonet_tasks", "source": "few-shot learning repositories (episodic samplers with a fixed seed per episode)",
        "roots": ["duplicated-samples"], "checks": [],
        "description": "the episode sampler makes its random state anew for each episode, so that all episodes are the same one",
        "location": "EpisodeSampler.sample"}


class SyntheticOmniglot:
    """classes x instances x features; a class is a smooth random template."""

    def __init__(self, n_classes=40, per_class=20, dim=64, seed=0):
        rs = np.random.RandomState(seed)
        base = rs.randn(n_classes, 8)
        mix = rs.randn(8, dim) / np.sqrt(8)
        latent = base[:, None] + 0.35 * rs.randn(n_classes, per_class, 8)
        x = np.tanh(latent @ mix) + 0.6 * rs.randn(n_classes, per_class, dim)
        self.x = torch.tensor(x, dtype=torch.float32)
        self.n_classes, self.per_class = n_classes, per_class


class EpisodeSampler:
    def __init__(self, dataset, n_way, k_shot, n_query, seed, fixed):
        self.ds, self.n_way, self.k_shot, self.n_query = dataset, n_way, k_shot, n_query
        self.seed = seed
        self.rng = np.random.RandomState(seed)
        self.fixed = fixed

    def sample(self):
        rng = self.rng if self.fixed else np.random.RandomState(self.seed)
        classes = rng.choice(self.ds.n_classes, self.n_way, replace=False)
        support, query = [], []
        for c in classes:
            idx = rng.permutation(self.ds.per_class)[: self.k_shot + self.n_query]
            support.append(self.ds.x[c, idx[: self.k_shot]])
            query.append(self.ds.x[c, idx[self.k_shot:]])
        labels = torch.arange(self.n_way).repeat_interleave(self.n_query)
        return torch.stack(support), torch.cat(query), labels


class ProtoNet(nn.Module):
    def __init__(self, dim=64, hidden=96, out=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(dim, hidden), nn.LayerNorm(hidden), nn.ReLU(),
                                   nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, support, query):
        way, shot, dim = support.shape
        protos = self.embed(support.reshape(way * shot, dim)).reshape(way, shot, -1).mean(1)
        return -torch.cdist(self.embed(query), protos).pow(2) / 8.0


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    np.random.seed(seed)
    dataset = SyntheticOmniglot(seed=seed)
    sampler = EpisodeSampler(dataset, n_way=8, k_shot=3, n_query=5, seed=seed + 1, fixed=fixed)
    episodes = [sampler.sample() for _ in range(60)]
    model = ProtoNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss_fn(model, episode):
        support, query, labels = episode
        return F.cross_entropy(model(support, query), labels)

    return {"model": model, "optimizer": optimizer, "data": episodes, "loss": loss_fn}
