"""Recommender: user and item embeddings under SparseAdam, a scoring MLP under Adam."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_sparse_emb",
    "source": "own experience (second optimizer made and never stepped)",
    "roots": ["missing-optimizer-step"],
    "description": "the optimizer of the embeddings is zeroed but never stepped: the embeddings stay random",
    "location": "emb_opt",
    "shows_in": "wiring",
}
USERS, ITEMS = 80, 60


class Recommender(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user_emb = nn.Embedding(USERS, dim, sparse=True)
        self.item_emb = nn.Embedding(ITEMS, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(3 * dim, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
        nn.init.normal_(self.user_emb.weight, std=0.3)
        nn.init.normal_(self.item_emb.weight, std=0.3)

    def forward(self, user, item):
        u, v = self.user_emb(user), self.item_emb(item)
        return self.mlp(torch.cat([u, v, u * v], -1)).squeeze(-1)


def make_data(n_batches=8, batch_size=64):
    taste, kind = torch.randn(USERS, 3), torch.randn(ITEMS, 3)
    data = []
    for _ in range(n_batches):
        user = torch.randint(0, USERS, (batch_size,))
        item = torch.randint(0, ITEMS, (batch_size,))
        liked = ((taste[user] * kind[item]).sum(-1) > 0).float()
        data.append((user, item, liked))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Recommender()
    emb_params = list(model.user_emb.parameters()) + list(model.item_emb.parameters())
    emb_opt = torch.optim.SparseAdam(emb_params, lr=2e-2)
    mlp_opt = torch.optim.Adam(model.mlp.parameters(), lr=5e-3)

    def step(batch):
        user, item, liked = batch
        emb_opt.zero_grad()
        mlp_opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(user, item), liked)
        loss.backward()
        mlp_opt.step()
        if fixed:
            emb_opt.step()
        return loss.detach()

    return {"model": model, "optimizer": [emb_opt, mlp_opt], "data": data, "step": step}
