"""Spam filter on bag-of-words counts."""
import torch
import torch.nn as nn

META = {
    "id": "b1_spam_one_logit",
    "source": "CASES.md C 49931055 (softmax loss with 1-dim output: loss is zero from the start)",
    "roots": ["wrong-loss-for-task"],
    "description": "nn.CrossEntropyLoss on a single output column with float targets: always zero",
    "location": "criterion = nn.CrossEntropyLoss()",
    "shows_in": "one-batch",
}


class SpamFilter(nn.Module):
    def __init__(self, vocab_size, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(vocab_size, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, counts):
        return self.net(torch.log1p(counts))


def sample_mails(n, vocab_size):
    is_spam = (torch.rand(n, 1) < 0.45).float()
    ham_rate = torch.distributions.Dirichlet(torch.full((vocab_size,), 0.5)).sample() * 60
    spam_rate = torch.distributions.Dirichlet(torch.full((vocab_size,), 0.5)).sample() * 60
    rate = is_spam * (0.4 * spam_rate + 0.6 * ham_rate) + (1 - is_spam) * ham_rate
    return torch.poisson(rate), is_spam


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab_size, batch_size = 200, 32
    counts, is_spam = sample_mails(10 * batch_size, vocab_size)
    loader = [
        (counts[i:i + batch_size], is_spam[i:i + batch_size])
        for i in range(0, counts.shape[0], batch_size)
    ]

    model = SpamFilter(vocab_size)
    if fixed:
        criterion = nn.BCEWithLogitsLoss()
    else:
        criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        counts, target = batch
        return criterion(model(counts), target)

    return {"model": model, "optimizer": optimizer, "data": loader, "loss": loss}
