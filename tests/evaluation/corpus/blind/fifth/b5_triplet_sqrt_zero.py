"""Person re-identification embedding with batch-hard triplet loss, distances by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_triplet_sqrt_zero",
    "source": "CASES.md section J: forum 48702 (SqrtBackward NaN), 6844 (norm at 0)",
    "roots": ["unstable-operation"],
    "description": "the square root of the pairwise squared distances has an infinite slope at the zeros of the diagonal: NaN gradients at the first step",
    "location": "pairwise_distance: torch.sqrt at 0",
    "shows_in": "nan",
}


class Embedder(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(24 * 4 * 2, d),
        )

    def forward(self, x):
        return self.net(x)


def pairwise_distance(z, eps):
    diff = z.unsqueeze(0) - z.unsqueeze(1)
    sq = diff.pow(2).sum(-1)
    return torch.sqrt(sq + eps)


def batch_hard_triplet(z, pid, margin=1.0, eps=0.0):
    dist = pairwise_distance(z, eps)
    same = pid.unsqueeze(0) == pid.unsqueeze(1)
    hardest_pos = (dist * same).max(1).values
    hardest_neg = (dist + 1e3 * same).min(1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


def crops(n_batches, n_ids, per_id, g):
    shared = torch.Generator().manual_seed(19)
    person = torch.randn(24, 3, 16, 8, generator=shared)
    for _ in range(n_batches):
        ids = torch.randperm(24, generator=g)[:n_ids].repeat_interleave(per_id)
        yield person[ids] + 0.7 * torch.randn(len(ids), 3, 16, 8, generator=g), ids


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    data = list(crops(6, 8, 4, g))
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    eps = 1e-6 if fixed else 0.0

    def loss(model, batch):
        image, pid = batch
        return batch_hard_triplet(model(image), pid, eps=eps)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
