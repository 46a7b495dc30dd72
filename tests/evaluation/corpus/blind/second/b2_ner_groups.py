"""BiLSTM tagger for named entities with its own learning rate for each part."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_ner_groups",
    "source": "zjunlp/HVPNeT #5",
    "roots": ["parameters-not-in-optimizer"],
    "description": "the parameter group of the tag head is put together but never appended to the list given to the optimizer",
    "location": "fc.weight, fc.bias",
    "shows_in": "wiring",
}
VOCAB, TAGS, PAD = 60, 6, 0


class Tagger(nn.Module):
    def __init__(self, dim=32, hidden=32):
        super().__init__()
        self.word_emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, TAGS)

    def forward(self, ids):
        out, _ = self.lstm(self.word_emb(ids))
        return self.fc(out)


def make_data(n_batches=6, batch_size=16, length=14):
    kind = torch.randint(0, 3, (VOCAB,))
    data = []
    for _ in range(n_batches):
        ids = torch.randint(1, VOCAB, (batch_size, length))
        prev = torch.cat([torch.zeros(batch_size, 1, dtype=torch.long), kind[ids][:, :-1]], 1)
        tags = kind[ids] + 3 * (prev == 2).long()
        lens = torch.randint(8, length + 1, (batch_size,))
        pad = torch.arange(length)[None] >= lens[:, None]
        ids[pad], tags[pad] = PAD, -100
        data.append({"ids": ids, "tags": tags})
    return data


def build_optimizer(model, fixed):
    parameters = []
    params = {"lr": 3e-3, "weight_decay": 1e-2, "params": []}
    for name, param in model.named_parameters():
        if "word_emb" in name:
            params["params"].append(param)
    parameters.append(params)

    params = {"lr": 5e-3, "weight_decay": 1e-2, "params": []}
    for name, param in model.named_parameters():
        if "lstm" in name:
            params["params"].append(param)
    parameters.append(params)

    params = {"lr": 5e-3, "weight_decay": 0.0, "params": []}
    for name, param in model.named_parameters():
        if name.startswith("fc"):
            params["params"].append(param)
    if fixed:
        parameters.append(params)
    return torch.optim.AdamW(parameters)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = Tagger()
    optimizer = build_optimizer(model, fixed)

    def loss(model, batch):
        logits = model(batch["ids"])
        return F.cross_entropy(logits.flatten(0, 1), batch["tags"].flatten(), ignore_index=-100)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
