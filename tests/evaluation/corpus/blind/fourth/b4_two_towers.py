"""Wide user/item two-tower recommender predicting explicit ratings."""
import torch
import torch.nn as nn

META = {
    "id": "b4_two_towers",
    "source": "own experience (copy-paste in forward); cf. CASES.md 34900246",
    "roots": ["unused-parameters"],
    "description": "forward sends the item features through the user tower; the item tower never runs",
    "location": "item_tower",
    "shows_in": "wiring",
}


def tower(width):
    return nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 16))


class TwoTowers(nn.Module):
    def __init__(self, users=60, items=80, dim=16, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.user_emb = nn.Embedding(users, dim)
        self.item_emb = nn.Embedding(items, dim)
        self.user_tower = tower(dim)
        self.item_tower = tower(dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, user, item):
        u = self.user_tower(self.user_emb(user))
        if self.fixed:
            v = self.item_tower(self.item_emb(item))
        else:
            v = self.user_tower(self.item_emb(item))
        return (u * v).sum(-1) + self.bias


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    u_true, v_true = torch.randn(60, 3), torch.randn(80, 3)
    user, item = torch.randint(0, 60, (512,)), torch.randint(0, 80, (512,))
    rating = (u_true[user] * v_true[item]).sum(-1)
    data = []
    for i in range(0, 512, 64):
        s = slice(i, i + 64)
        data.append({"user": user[s], "item": item[s], "rating": rating[s]})
    model = TwoTowers(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        predicted = model(batch["user"], batch["item"])
        return nn.functional.mse_loss(predicted, batch["rating"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
