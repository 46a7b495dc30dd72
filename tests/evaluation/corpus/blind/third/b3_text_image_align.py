"""Mapping text features onto fixed image features by cosine similarity."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_text_image_align",
    "source": "own experience (cosine similarity minimised instead of maximised)",
    "roots": ["wrong-loss-sign"],
    "description": "the mean cosine similarity itself is minimised: matching pairs are pushed apart",
    "location": "loss: F.cosine_similarity without 1 - ...",
    "shows_in": "one-batch",
}


class Projector(nn.Module):
    def __init__(self, d_text=40, d_image=24, hidden=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(d_text, hidden),
            nn.LayerNorm(hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, d_image),
        )

    def forward(self, text):
        return F.normalize(self.net(text), dim=-1)


def make_data(g, n_batches=8, batch=48):
    to_text = torch.randn(8, 40, generator=g) / 3
    to_image = torch.randn(8, 24, generator=g) / 3
    data = []
    for _ in range(n_batches):
        z = torch.randn(batch, 8, generator=g)
        text = torch.tanh(z @ to_text) + 0.02 * torch.randn(batch, 40, generator=g)
        image = F.normalize(z @ to_image, dim=-1)
        data.append({"text": text, "image": image})
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 23)
    data = make_data(g)
    model = Projector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        similarity = F.cosine_similarity(model(batch["text"]), batch["image"], dim=-1)
        if fixed:
            return 1 - similarity.mean()
        return similarity.mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
