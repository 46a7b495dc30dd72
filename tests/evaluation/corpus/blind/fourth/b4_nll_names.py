"""Surname origin classification with a character LSTM."""
import torch
import torch.nn as nn

META = {
    "id": "b4_nll_names",
    "source": "CASES.md stackoverflow 53813636 (missing softmax layer)",
    "roots": ["missing-activation-for-loss"],
    "description": "NLLLoss is fed raw scores, log_softmax is missing",
    "location": "NameNet.forward (return value)",
    "shows_in": "one-batch",
}


class NameNet(nn.Module):
    def __init__(self, letters=27, origins=6, log_probs=False):
        super().__init__()
        self.letters = nn.Embedding(letters, 16)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.i2o = nn.Linear(32, origins)
        self.log_softmax = nn.LogSoftmax(dim=-1)
        self.log_probs = log_probs

    def forward(self, name):
        _, (h, _) = self.lstm(self.letters(name))
        scores = self.i2o(h[-1])
        if self.log_probs:
            return self.log_softmax(scores)
        return scores


def names(n, origins=6, length=8):
    prior = torch.rand(origins, 27) ** 4
    origin = torch.randint(0, origins, (n,))
    letters = torch.multinomial(prior[origin], length, replacement=True)
    return letters, origin


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    letters, origin = names(320)
    data = [(letters[i:i + 40], origin[i:i + 40]) for i in range(0, 320, 40)]
    model = NameNet(log_probs=fixed)
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        name, target = batch
        return criterion(model(name), target)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
