"""Gradient hooks on embedding and activations."""
import torch
import torch.nn as nn

META = {
    "id": "h_grad_hooks",
    "description": 'A hook zeroes the gradient of the first 50 (pretrained) rows of the embedding, another clamps gradients at the hidden layer; both on purpose.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self, pretrained):
        super().__init__()
        self.emb = nn.Embedding(80, 32)
        with torch.no_grad():
            self.emb.weight[:50] = pretrained
        keep = torch.ones(80, 1)
        keep[:50] = 0
        self.emb.weight.register_hook(lambda g: g * keep)
        self.fc1, self.fc2 = nn.Linear(32, 64), nn.Linear(64, 5)

    def forward(self, ids):
        h = torch.relu(self.fc1(self.emb(ids).mean(1)))
        if h.requires_grad:
            h.register_hook(lambda g: g.clamp(-0.5, 0.5))
        return self.fc2(h)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    topic = torch.arange(80) % 5
    vectors = nn.functional.one_hot(topic[:50], 32).float() + 0.3 * torch.randn(50, 32)
    data = []
    for _ in range(8):
        y = torch.randint(0, 5, (32,))
        ids = torch.randint(0, 80, (32, 7))
        ids = torch.where(torch.rand(32, 7) < 0.5, ids // 5 * 5 + y[:, None], ids)
        data.append((ids, y))
    model = Net(vectors)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        ids, y = batch
        return nn.functional.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
