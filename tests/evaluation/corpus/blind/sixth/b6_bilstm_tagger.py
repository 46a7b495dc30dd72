"""Sentence classifier with a bidirectional LSTM and its two final states."""
import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_bilstm_tagger",
    "source": "forum: h_n.view(batch, -1) for (directions, batch, hidden); CASES.md E: so 46705634 (wrong input format for rnn)",
    "roots": ["batch-mixing"],
    "checks": [],
    "description": "h_n is (2, B, H); view(B, -1) puts states of different sentences into one row, so each prediction is made from other samples.",
    "location": "SentenceClassifier.forward: h_n.view(tokens.size(0), -1)",
}


class SentenceClassifier(nn.Module):
    def __init__(self, vocab=30, dim=20, hidden=24, classes=3, move=False):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, classes)
        self.move = move

    def forward(self, tokens):
        _, (h_n, _) = self.lstm(self.emb(tokens))
        if self.move:
            h_n = h_n.transpose(0, 1).contiguous()
        return self.fc(h_n.view(tokens.size(0), -1))


def sentences(n, gen):
    tokens = torch.randint(0, 30, (n, 9), generator=gen)
    score = (tokens < 10).sum(1) - (tokens >= 20).sum(1)
    label = torch.where(score > 0, 2, torch.where(score < 0, 0, 1))
    return tokens, label


def train_fn(model, optimizer):
    def step(batch):
        tokens, label = batch
        logits = model(tokens)
        loss = F.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    return step


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed + 8)
    data = [sentences(32, gen) for _ in range(8)]
    val = [sentences(32, gen) for _ in range(2)]
    model = SentenceClassifier(move=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    return {"model": model, "optimizer": optimizer, "data": data, "val": val, "step": train_fn(model, optimizer)}
