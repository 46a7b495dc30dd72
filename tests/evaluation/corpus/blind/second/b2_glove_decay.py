"""Sentiment GRU on fixed word vectors: the vectors' gradients are zeroed, the rest is trained with AdamW."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_glove_decay",
    "source": "own experience (freezing by zeroing gradients under weight decay)",
    "roots": ["frozen-parameters-change"],
    "description": "the word vectors are meant to be fixed, but with zeroed instead of no gradients AdamW's weight decay shrinks them at every step",
    "location": "vectors.weight",
    "shows_in": "wiring",
}
VOCAB, DIM = 60, 24


class SentimentGRU(nn.Module):
    def __init__(self, vectors, hidden=48):
        super().__init__()
        self.vectors = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.gru = nn.GRU(DIM, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 2)

    def forward(self, ids):
        out, _ = self.gru(self.vectors(ids))
        return self.fc(out.mean(1))


def make_data(vectors, n_batches=8, batch_size=24, length=10):
    direction = torch.randn(DIM)
    data = []
    for _ in range(n_batches):
        ids = torch.randint(0, VOCAB, (batch_size, length))
        y = ((vectors[ids] @ direction).sum(1) > 0).long()
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vectors = torch.randn(VOCAB, DIM)
    data = make_data(vectors)
    model = SentimentGRU(vectors.clone())
    if fixed:
        model.vectors.weight.requires_grad_(False)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=3e-3, weight_decay=0.1)

    def step(batch):
        ids, y = batch
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad()
        loss.backward()
        if model.vectors.weight.grad is not None:
            model.vectors.weight.grad.zero_()
        optimizer.step()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
