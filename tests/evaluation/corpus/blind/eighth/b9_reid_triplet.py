"""Person re-identification: batch-hard triplet loss with identity head."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_reid_triplet", "source": "re-id / metric learning repositories; forum: sqrt backward gives NaN",
        "roots": ["unstable-operation"], "checks": [],
        "description": "the square root of the pairwise distances is taken at exactly 0 (the diagonal), where its gradient is infinite",
        "location": "euclidean_dist"}


def euclidean_dist(x, y, fixed):
    diff = x.unsqueeze(1) - y.unsqueeze(0)
    dist = diff.pow(2).sum(-1)
    if fixed:
        dist = dist.clamp(min=1e-12)
    return dist.sqrt()


class TripletLoss:
    def __init__(self, margin=0.3, fixed=False):
        self.ranking = nn.MarginRankingLoss(margin=margin)
        self.fixed = fixed

    def __call__(self, feats, labels):
        n = feats.size(0)
        dist = euclidean_dist(feats, feats, self.fixed)
        is_pos = labels.expand(n, n).eq(labels.expand(n, n).t())
        dist_ap = (dist * is_pos.float()).max(1)[0]
        dist_an = (dist + 1e4 * is_pos.float()).min(1)[0]
        y = torch.ones_like(dist_an)
        return self.ranking(dist_an, dist_ap, y) + 1e-3 * dist.mean()


class ReIDNet(nn.Module):
    def __init__(self, n_ids, feat=32):
        super().__init__()
        self.base = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                                  nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d((4, 1)))
        self.embed = nn.Linear(128, feat)
        self.bnneck = nn.BatchNorm1d(feat)
        self.classifier = nn.Linear(feat, n_ids, bias=False)

    def forward(self, x):
        f = self.embed(self.base(x).flatten(1))
        return f, self.classifier(self.bnneck(f))


def pk_batches(n_batches, P, K, n_ids, seed):
    g = torch.Generator().manual_seed(seed + 31)
    looks = torch.randn(n_ids, 3, 4, 2, generator=g)
    out = []
    for _ in range(n_batches):
        ids = torch.randperm(n_ids, generator=g)[:P].repeat_interleave(K)
        img = F.interpolate(looks[ids], size=(24, 12), mode="nearest")
        img = img + 0.4 * torch.randn(P * K, 3, 24, 12, generator=g)
        out.append((img, ids))
    return out


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    model = ReIDNet(24)
    triplet, xent = TripletLoss(fixed=fixed), nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=5e-4)
    data = pk_batches(12, 8, 4, 24, seed)

    def do_train(batch):
        model.train()
        img, pid = batch
        optimizer.zero_grad()
        feat, score = model(img)
        loss = xent(score, pid) + triplet(feat, pid)
        loss.backward()
        optimizer.step()
        return loss.item()

    return {"model": model, "optimizer": optimizer, "data": data, "step": do_train}
