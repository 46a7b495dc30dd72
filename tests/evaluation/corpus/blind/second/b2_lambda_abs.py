"""Transformer encoder for intent classification with warm-up by LambdaLR."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_lambda_abs",
    "source": "own experience (lr_lambda that returns the learning rate instead of a factor)",
    "roots": ["scheduler-misuse"],
    "description": "lr_lambda returns the absolute learning rate, which LambdaLR multiplies with the base rate again: the rate ends near 1e-6",
    "location": "lr_lambda",
    "shows_in": "one-batch",
}
VOCAB, LENGTH, BASE_LR, WARMUP = 50, 12, 1e-3, 20


class IntentNet(nn.Module):
    def __init__(self, dim=48, n_intents=5):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.zeros(1, LENGTH, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, n_intents)

    def forward(self, ids):
        x = self.encoder(self.emb(ids) + self.pos)
        return self.head(x.mean(1))


def make_data(n_batches=6, batch_size=32):
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, 5, (batch_size,))
        ids = torch.randint(10, VOCAB, (batch_size, LENGTH))
        where = torch.randint(0, LENGTH - 1, (batch_size,))
        rows = torch.arange(batch_size)
        ids[rows, where] = 2 * y
        ids[rows, where + 1] = 2 * y + 1
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = IntentNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=BASE_LR)

    def lr_lambda(it):
        factor = min(1.0, (it + 1) / WARMUP)
        return factor if fixed else BASE_LR * factor

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)

    def step(batch):
        ids, y = batch
        model.train()
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return loss.detach()

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
