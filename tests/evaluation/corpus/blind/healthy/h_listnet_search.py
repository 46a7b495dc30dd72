"""Listwise ranking of documents (ListNet)."""
import torch
import torch.nn as nn

META = {
    "id": "h_listnet_search",
    "description": 'Cross entropy between two soft distributions: the floor is the entropy of the target distribution, well above zero.',
    "roots": [],
}


class Scorer(nn.Module):
    def __init__(self, feats=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(feats, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, docs):                     # (B, n_docs, feats)
        return self.net(docs).squeeze(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(8)
    data = []
    for _ in range(8):
        docs = torch.randn(16, 10, 8)
        grade = (docs @ w + docs[..., 0] * docs[..., 1]).clamp(-3, 3)
        data.append({"docs": docs, "grade": grade})
    model = Scorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        target = batch["grade"].softmax(1)
        return -(target * model(batch["docs"]).log_softmax(1)).sum(1).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
