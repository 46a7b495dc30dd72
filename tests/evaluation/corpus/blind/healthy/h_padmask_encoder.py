"""Transformer encoder with a padding mask and a CLS token."""
import torch
import torch.nn as nn

META = {
    "id": "h_padmask_encoder",
    "description": 'Position table of 64 rows of which only 13 are used; padded keys are masked; LR warms up from 0, so the first step changes nothing.',
    "roots": [],
}


class Encoder(nn.Module):
    def __init__(self, vocab=40, dim=32, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Embedding(max_len, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 4)

    def forward(self, ids):
        x = torch.cat([self.cls.expand(len(ids), -1, -1), self.tok(ids)], 1)
        x = x + self.pos(torch.arange(x.shape[1]))
        pad = torch.cat([torch.zeros(len(ids), 1, dtype=torch.bool), ids == 0], 1)
        return self.head(self.enc(x, src_key_padding_mask=pad)[:, 0])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        y = torch.randint(0, 4, (16,))
        ids = torch.randint(5, 40, (16, 12))
        ids[torch.arange(16), torch.randint(0, 5, (16,))] = 1 + y
        ids[torch.arange(12)[None] >= torch.randint(5, 13, (16,))[:, None]] = 0
        data.append((ids, y))
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, s / 30))

    def step(batch):
        ids, y = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids), y)
        loss.backward()
        optimizer.step()
        warmup.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
