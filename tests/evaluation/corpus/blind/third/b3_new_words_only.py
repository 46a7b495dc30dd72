"""Vocabulary extension: only the rows of newly added words are to be trained, old rows stay as they are."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_new_words_only",
    "source": "own experience (gradient masked to zero, weight decay still applied)",
    "roots": ["frozen-parameters-change"],
    "description": "gradients of the old embedding rows are zeroed, but AdamW's weight decay shrinks these rows anyhow",
    "location": "optimizer: weight_decay on embed.weight",
    "shows_in": "wiring",
}

OLD, NEW, LENGTH, CLASSES = 40, 24, 8, 4


class TextNet(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.embed = nn.Embedding(OLD + NEW, dim)
        self.conv = nn.Conv1d(dim, 64, 3, padding=1)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, tokens):
        h = self.embed(tokens).transpose(1, 2)
        h = F.relu(self.conv(h)).amax(dim=2)
        return self.head(h)


def make_data(g, n_batches=8, batch=32):
    meaning = torch.randn(OLD + NEW, CLASSES, generator=g)
    data = []
    for _ in range(n_batches):
        tokens = torch.randint(0, OLD + NEW, (batch, LENGTH), generator=g)
        data.append((tokens, meaning[tokens].sum(1).argmax(1)))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 81)
    data = make_data(g)
    model = TextNet()
    trainable_rows = torch.zeros(OLD + NEW, 1)
    trainable_rows[OLD:] = 1.0
    optimizer = torch.optim.AdamW(
        [
            {"params": [model.embed.weight], "weight_decay": 0.0 if fixed else 0.1},
            {"params": [*model.conv.parameters(), *model.head.parameters()], "weight_decay": 0.01},
        ],
        lr=3e-3,
    )

    def step(batch):
        tokens, y = batch
        loss = F.cross_entropy(model(tokens), y)
        optimizer.zero_grad()
        loss.backward()
        model.embed.weight.grad *= trainable_rows
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
