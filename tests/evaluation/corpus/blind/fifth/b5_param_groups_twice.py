"""Fine-tuning a text CNN; the parameter list for the optimizer is put together by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_param_groups_twice",
    "source": "own experience; pytorch issue 40967 (duplicate parameters in a group are only warned about)",
    "roots": ["duplicate-parameters"],
    "description": "the classifier's parameters are listed twice in the optimizer, so they are stepped twice per step",
    "location": "trainable_parameters: classifier + model.parameters()",
    "shows_in": "wiring",
}


class TextCNN(nn.Module):
    def __init__(self, vocab=180, d=32, n_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.convs = nn.ModuleList([nn.Conv1d(d, 24, k, padding=k // 2) for k in (3, 5)])
        self.classifier = nn.Linear(48, n_classes)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=2) for conv in self.convs]
        return self.classifier(torch.cat(pooled, dim=1))


def trainable_parameters(model, fixed):
    if fixed:
        params = list(model.embedding.parameters()) + list(model.convs.parameters())
    else:
        params = [p for p in model.parameters() if p.requires_grad]
    params += list(model.classifier.parameters())
    return params


def comments(n, seed):
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 5, (n,), generator=g)
    ids = torch.randint(50, 180, (n, 16), generator=g)
    cue = label.unsqueeze(1) * 10 + torch.randint(0, 10, (n, 16), generator=g)
    return torch.where(torch.rand(n, 16, generator=g) < 0.3, cue, ids), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    ids, label = comments(8 * 32, seed)
    data = list(zip(ids.split(32), label.split(32)))
    model = TextCNN()
    optimizer = torch.optim.SGD(trainable_parameters(model, fixed), lr=0.05, momentum=0.9)

    def loss(model, batch):
        tokens, y = batch
        return F.cross_entropy(model(tokens), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
