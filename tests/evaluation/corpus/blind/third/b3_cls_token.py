"""Intent classification: transformer with a [CLS] token in front of the sentence."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_cls_token",
    "source": "own experience (decoder-style mask copied into a classifier)",
    "roots": ["ignores-input"],
    "description": "a causal mask hides all later tokens from [CLS] at position 0, so the logits never depend on the sentence",
    "location": "IntentTransformer.forward: causal mask with CLS first",
    "shows_in": "one-batch",
}

VOCAB, CLS, LENGTH, N_INTENTS = 50, 0, 10, 5


class IntentTransformer(nn.Module):
    def __init__(self, causal, dim=48):
        super().__init__()
        self.causal = causal
        self.embed = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(LENGTH + 1, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, N_INTENTS)

    def forward(self, tokens):
        cls = torch.full((tokens.shape[0], 1), CLS)
        ids = torch.cat([cls, tokens], dim=1)
        t = ids.shape[1]
        h = self.embed(ids) + self.pos(torch.arange(t))
        mask = None
        if self.causal:
            mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        h = self.encoder(h, mask=mask)
        return self.head(self.norm(h[:, 0]))


def make_data(g, n_batches=8, batch=24):
    keywords = torch.randperm(VOCAB - 1, generator=g)[: N_INTENTS * 6].reshape(N_INTENTS, 6) + 1
    data = []
    for _ in range(n_batches):
        y = torch.randint(0, N_INTENTS, (batch,), generator=g)
        x = torch.randint(1, VOCAB, (batch, LENGTH), generator=g)
        for i in range(batch):
            where = torch.randperm(LENGTH, generator=g)[:5]
            x[i, where] = keywords[y[i], torch.randint(0, 6, (5,), generator=g)]
        data.append((x, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 70)
    data = make_data(g)
    model = IntentTransformer(causal=not fixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(model, batch):
        tokens, intent = batch
        return F.cross_entropy(model(tokens), intent)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
