"""Spam filter on bag-of-words counts."""
import torch
from torch import nn

META = {
    "id": "b5_spam_ce_one_output",
    "source": "CASES.md: TheDeepChecker 45652597 / 49931055 (cost is always zero), DeepFD 58609115",
    "roots": ["wrong-loss-for-task"],
    "description": "CrossEntropyLoss on a single output column: softmax over one class is 1, the loss is exactly 0 from the start",
    "location": "criterion = nn.CrossEntropyLoss()",
    "shows_in": "one-batch",
}

VOCAB = 300


class SpamNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(VOCAB, 128)
        self.drop = nn.Dropout(0.1)
        self.hidden = nn.Linear(128, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, counts):
        h = torch.relu(self.embed(torch.log1p(counts)))
        h = torch.relu(self.hidden(self.drop(h)))
        return self.out(h)


def mails(n, seed):
    g = torch.Generator().manual_seed(seed)
    spam = torch.randint(0, 2, (n, 1), generator=g).float()
    rate = torch.full((n, VOCAB), 0.15)
    rate[:, :25] += 0.5 * spam
    rate[:, 25:50] += 0.5 * (1 - spam)
    return torch.poisson(rate, generator=g), spam


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    counts, spam = mails(8 * 32, seed)
    train_loader = list(zip(counts.split(32), spam.split(32)))

    model = SpamNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.BCEWithLogitsLoss() if fixed else nn.CrossEntropyLoss()

    def loss(model, batch):
        x, y = batch
        output = model(x)
        return criterion(output, y)

    return {"model": model, "optimizer": optimizer, "data": train_loader, "loss": loss}
