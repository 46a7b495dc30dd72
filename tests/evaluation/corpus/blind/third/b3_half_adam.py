"""Click prediction trained with the weights in half precision to save memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_half_adam",
    "source": "CASES.md E, stackoverflow 42064941 / 42327543 (Adam epsilon) and K TinyLlama-1.1B (fp16 weights)",
    "roots": ["low-precision-overflow"],
    "description": "model cast to float16: Adam's squared gradients and eps=1e-8 underflow to 0, the update becomes inf/NaN",
    "location": "model.half()",
    "shows_in": "nan",
}


class ClickNet(nn.Module):
    def __init__(self, n_users=40, n_items=60, dim=16, n_dense=6):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.mlp = nn.Sequential(
            nn.Linear(2 * dim + n_dense, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, user, item, dense):
        x = torch.cat([self.user(user), self.item(item), dense.to(self.user.weight.dtype)], dim=1)
        return self.mlp(x).squeeze(1)


def make_data(g, n_batches=8, batch=48):
    u_lat = torch.randn(40, 4, generator=g)
    i_lat = torch.randn(60, 4, generator=g)
    w = torch.randn(6, generator=g)
    data = []
    for _ in range(n_batches):
        u = torch.randint(0, 40, (batch,), generator=g)
        i = torch.randint(0, 60, (batch,), generator=g)
        d = torch.randn(batch, 6, generator=g)
        y = ((u_lat[u] * i_lat[i]).sum(1) + d @ w > 0).float()
        data.append({"user": u, "item": i, "dense": d, "click": y})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 21)
    data = make_data(g)
    model = ClickNet()
    if not fixed:
        model = model.half()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, foreach=False)

    def step(batch):
        optimizer.zero_grad()
        logit = model(batch["user"], batch["item"], batch["dense"])
        loss = F.binary_cross_entropy_with_logits(logit, batch["click"].to(logit.dtype))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
