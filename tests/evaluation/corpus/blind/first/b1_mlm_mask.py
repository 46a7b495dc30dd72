"""Masked language model on synthetic product codes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_mlm_mask",
    "source": "own experience: MLM collator that masks the stored token tensor",
    "roots": ["in-place-modification"],
    "description": "mask tokens are written into the batch itself, so more of every sequence is lost at each pass",
    "location": "mask_tokens: tokens[masked] = MASK (no clone)",
    "shows_in": "wiring",
}

MASK = 0


class CodeBERT(nn.Module):
    def __init__(self, vocab, length, dim=48, heads=4, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(length, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 96, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.out(self.norm(self.encoder(self.tok(tokens) + self.pos)))


def make_codes(n, length, vocab):
    family = torch.randint(0, 6, (n, 1))
    table = torch.randint(1, vocab, (6, length))
    variant = torch.randint(0, 3, (n, 1))
    shift = torch.zeros(n, length, dtype=torch.long)
    shift[:, 1::2] = variant
    return (table[family.squeeze(1)] + shift - 1) % (vocab - 1) + 1


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, length, bs = 30, 14, 16
    data = list(make_codes(6 * bs, length, vocab).split(bs))
    model = CodeBERT(vocab, length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def mask_tokens(tokens, p=0.15):
        masked = torch.rand(tokens.shape) < p
        masked[:, 0] |= ~masked.any(dim=1)
        labels = torch.where(masked, tokens, torch.full_like(tokens, -100))
        if fixed:
            tokens = tokens.clone()
        tokens[masked] = MASK
        return tokens, labels

    def loss(model, batch):
        inputs, labels = mask_tokens(batch)
        return F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten(), ignore_index=-100)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
