"""Audio-codec language model: a causal transformer over codec tokens with an end token."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b3_codec_lm_eos",
    "source": "CASES.md K, VALL-E-X-derived TTS (end-of-sequence id equals ignore_index)",
    "roots": ["invalid-labels"],
    "description": "the end-of-sequence id is also the ignore_index: the model never learns to stop",
    "location": "F.cross_entropy(ignore_index=EOS): labels equal to 32 are dropped",
    "shows_in": "wiring",
}

N_CODES = 32
EOS = N_CODES
LENGTH = 16


class CodecLM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, LENGTH, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x):
        t = x.shape[1]
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        h = self.tok(x) + self.pos[:, :t]
        return self.out(self.blocks(h, mask=mask))


def make_data(g, pad, n_batches=6, batch=16):
    step = torch.randperm(N_CODES, generator=g)
    data = []
    for _ in range(n_batches):
        seqs = torch.full((batch, LENGTH + 1), pad)
        for i in range(batch):
            n = int(torch.randint(8, LENGTH + 1, (1,), generator=g))
            code = int(torch.randint(0, N_CODES, (1,), generator=g))
            for t in range(n):
                seqs[i, t] = code
                code = int(step[code])
            seqs[i, n] = EOS
        data.append(seqs)
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 5)
    pad = EOS + 1 if fixed else EOS
    data = make_data(g, pad)
    model = CodecLM(vocab=N_CODES + 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def loss(model, batch):
        inputs, targets = batch[:, :-1], batch[:, 1:]
        logits = model(inputs)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=pad)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
