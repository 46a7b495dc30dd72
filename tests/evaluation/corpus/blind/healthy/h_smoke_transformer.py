"""Smoke test of a causal transformer on random tokens."""
import torch
import torch.nn as nn

META = {
    "id": "h_smoke_transformer",
    "description": 'Next-token training on uniformly random ids: the floor through fresh data is log(vocab), a fixed batch can be memorised.',
    "roots": [],
}


class TinyLM(nn.Module):
    def __init__(self, vocab=50, dim=48, ctx=12):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(ctx, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        T = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        return self.head(self.blocks(self.tok(ids) + self.pos(torch.arange(T)), mask=mask, is_causal=True))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [torch.randint(0, 50, (8, 13)) for _ in range(4)]
    model = TinyLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, ids):
        logits = model(ids[:, :-1])
        return nn.functional.cross_entropy(logits.reshape(-1, 50), ids[:, 1:].reshape(-1))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
