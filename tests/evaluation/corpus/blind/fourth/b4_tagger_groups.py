"""Sequence tagger (BiLSTM, emission layer, learned transition scores) with hand-written parameter groups."""
import torch
import torch.nn as nn

META = {
    "id": "b4_tagger_groups",
    "source": "CASES.md zjunlp/HVPNeT #5",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the emission layer and the transition scores are in no parameter group",
    "location": "emission.weight, emission.bias, transitions",
    "shows_in": "one-batch",
}


class Tagger(nn.Module):
    def __init__(self, vocab=50, tags=5, dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.emission = nn.Linear(2 * hidden, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))

    def forward(self, tokens):
        out, _ = self.lstm(self.embedding(tokens))
        scores = self.emission(out)
        previous = scores[:, :-1].softmax(-1) @ self.transitions
        return torch.cat([scores[:, :1], scores[:, 1:] + previous], 1)


def parameter_groups(model, fixed):
    groups = [{"params": [], "lr": 2e-3, "name": "embedding"}, {"params": [], "lr": 5e-3, "name": "lstm"}]
    for name, p in model.named_parameters():
        if name.startswith("embedding"):
            groups[0]["params"].append(p)
        elif name.startswith("lstm"):
            groups[1]["params"].append(p)
    if fixed:
        top = {"params": [], "lr": 5e-3, "name": "top"}
        for name, p in model.named_parameters():
            if name.startswith("emission") or name.startswith("transitions"):
                top["params"].append(p)
        groups.append(top)
    return groups


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tokens = torch.randint(0, 50, (192, 10))
    tags = tokens % 5
    tags[:, 1:] = torch.where(tokens[:, :-1] < 10, (tags[:, 1:] + 1) % 5, tags[:, 1:])
    data = [{"tokens": tokens[i:i + 24], "tags": tags[i:i + 24]} for i in range(0, 192, 24)]
    model = Tagger()
    optimizer = torch.optim.Adam(parameter_groups(model, fixed))

    def loss(model, batch):
        scores = model(batch["tokens"])
        return nn.functional.cross_entropy(scores.flatten(0, 1), batch["tags"].flatten())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
