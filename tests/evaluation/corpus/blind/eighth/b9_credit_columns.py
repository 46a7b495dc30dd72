"""Default prediction on mixed columns: one embedding per categorical column, numeric columns through a small tower."""
import torch
from torch import nn

META = {"id": "b9_credit_columns", "source": "tabular entity-embedding notebooks (Kaggle); forum: 'list of layers not in model.parameters()'",
        "roots": ["parameters-not-in-optimizer"], "checks": [],
        "description": "the embeddings of the categorical columns are kept in a plain Python list, so neither the model nor the optimizer knows them",
        "location": "TabularModel.__init__"}

CARDINALITIES = [40, 30, 24, 12]


class TabularModel(nn.Module):
    def __init__(self, cards, n_cont, layers=(64, 32), p=0.05, fixed=False):
        super().__init__()
        embeds = [nn.Embedding(c, min(16, (c + 1) // 2)) for c in cards]
        for e in embeds:
            nn.init.normal_(e.weight, std=0.05)
        self.embeds = nn.ModuleList(embeds) if fixed else embeds
        n_emb = sum(e.embedding_dim for e in embeds)
        self.bn_cont = nn.BatchNorm1d(n_cont)
        sizes = [n_emb + n_cont] + list(layers)
        blocks = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            blocks += [nn.Linear(a, b), nn.ReLU(inplace=True), nn.Dropout(p)]
        self.mlp = nn.Sequential(*blocks, nn.Linear(sizes[-1], 1))

    def forward(self, cat, cont):
        x = torch.cat([emb(cat[:, i]) for i, emb in enumerate(self.embeds)] + [self.bn_cont(cont)], dim=1)
        return self.mlp(x).squeeze(-1)


def make_frame(n, seed):
    g = torch.Generator().manual_seed(seed + 99)
    cat = torch.stack([torch.randint(0, c, (n,), generator=g) for c in CARDINALITIES], 1)
    cont = torch.randn(n, 6, generator=g)
    effects = [torch.randn(c, generator=g) for c in CARDINALITIES]
    score = sum(e[cat[:, i]] for i, e in enumerate(effects)) + 0.4 * cont[:, 0] - 0.3 * cont[:, 1] * cont[:, 2]
    return cat, cont, (score > 0).float()


class Learner:
    def __init__(self, model, lr, wd):
        self.model = model
        decay = [p for n, p in model.named_parameters() if p.ndim > 1]
        no_decay = [p for n, p in model.named_parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": wd},
                                      {"params": no_decay, "weight_decay": 0.0}], lr=lr)
        self.crit = nn.BCEWithLogitsLoss()

    def one_batch(self, batch):
        cat, cont, target = batch
        self.model.train()
        pred = self.model(cat, cont)
        loss = self.crit(pred, target)
        loss.backward()
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    cat, cont, y = make_frame(960, seed)
    batches = [(cat[i:i + 48], cont[i:i + 48], y[i:i + 48]) for i in range(0, 960, 48)]
    learn = Learner(TabularModel(CARDINALITIES, 6, fixed=fixed), lr=4e-3, wd=1e-4)
    return {"model": learn.model, "optimizer": learn.opt, "data": batches, "step": learn.one_batch}
