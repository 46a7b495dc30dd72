"""Prototypical networks on few-shot episodes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_proto_episodes",
    "description": 'Batches are episodes (support and query); there is no classifier weight at all, the logits are negative squared distances to class means.',
    "roots": [],
}


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, support, query):           # (way, shot, 20), (n, 20)
        proto = self.embed(support).mean(1)
        return -torch.cdist(self.embed(query), proto).pow(2)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mix = torch.randn(5, 20)
    data = []
    for _ in range(10):
        centre = torch.randn(5, 1, 5) * 0.7
        support = (centre + 0.3 * torch.randn(5, 5, 5)) @ mix + 0.5 * torch.randn(5, 5, 20)
        query = (centre + 0.3 * torch.randn(5, 6, 5)) @ mix + 0.5 * torch.randn(5, 6, 20)
        data.append({"support": support, "query": query.flatten(0, 1), "label": torch.arange(5).repeat_interleave(6)})
    model = ProtoNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, ep):
        return F.cross_entropy(model(ep["support"], ep["query"]), ep["label"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
