"""Small causal transformer on arithmetic progressions; accumulation over micro-batches with a token count."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_accum_tokens",
    "source": "MakazhanAlpamys/Soup PR 742, huggingface num_items_in_batch",
    "roots": ["accumulation-not-scaled"],
    "description": "compute_loss takes num_items_in_batch and ignores it: the accumulated gradient is four times the full-batch gradient",
    "location": "compute_loss",
    "shows_in": "full-data",
}
VOCAB, LENGTH, MICRO = 24, 12, 4


class TinyGPT(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LENGTH, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.size(1)))
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.head(self.norm(self.blocks(x, mask=mask)))


def compute_loss(model, ids, num_items_in_batch=None, fixed=False):
    logits = model(ids[:, :-1])
    targets = ids[:, 1:].clone()
    targets[:, 0] = -100
    if fixed:
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
        return loss / num_items_in_batch
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_data(n_batches=6, batch_size=32):
    data = []
    for _ in range(n_batches):
        start = torch.randint(0, VOCAB, (batch_size, 1))
        jump = torch.randint(1, 5, (batch_size, 1))
        data.append((start + jump * torch.arange(LENGTH + 1)) % VOCAB)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = TinyGPT()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

    def step(batch):
        n_items = batch.size(0) * (LENGTH - 1)
        optimizer.zero_grad()
        shown = 0.0
        for ids in batch.chunk(MICRO):
            loss = compute_loss(model, ids, num_items_in_batch=n_items, fixed=fixed)
            loss.backward()
            shown += loss.item() if fixed else loss.item() / MICRO
        optimizer.step()
        return torch.tensor(shown)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
