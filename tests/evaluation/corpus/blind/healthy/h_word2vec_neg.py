"""Skip-gram with negative sampling on sparse embeddings."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_word2vec_neg",
    "description": 'Two tables with sparse gradients and SparseAdam, the output table starts at zero (as in word2vec), fresh negatives each step: the loss keeps a floor.',
    "roots": [],
}


class SkipGram(nn.Module):
    def __init__(self, vocab=60, dim=16):
        super().__init__()
        self.inp = nn.Embedding(vocab, dim, sparse=True)
        self.out = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.inp.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.out.weight)

    def forward(self, c, o, neg):
        v = self.inp(c)
        pos = (v * self.out(o)).sum(1)
        negs = torch.bmm(self.out(neg), v[:, :, None]).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-negs).sum(1)).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(8):
        c = torch.randint(0, 60, (64,))
        o = c // 6 * 6 + torch.randint(0, 6, (64,))   # words of the same group keep company
        data.append((c, o))
    model = SkipGram()
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=2e-2)

    def loss(model, batch):
        c, o = batch
        return model(c, o, torch.randint(0, 60, (len(c), 5)))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
