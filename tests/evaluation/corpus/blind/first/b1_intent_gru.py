"""Intent classification of short commands with a bidirectional GRU."""
import torch
import torch.nn as nn

META = {
    "id": "b1_intent_gru",
    "source": "CASES.md D missing_softmax; PyTorch forum classic (NLLLoss is negative)",
    "roots": ["missing-activation-for-loss"],
    "description": "nn.NLLLoss gets raw scores: no log_softmax at the end of the model",
    "location": "IntentClassifier.forward, return value",
    "shows_in": "one-batch",
}


class IntentClassifier(nn.Module):
    def __init__(self, vocab, n_intents, log_probs, dim=24, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(2 * hidden, n_intents)
        self.log_probs = log_probs

    def forward(self, tokens):
        emb = self.drop(self.embedding(tokens))
        _, h = self.gru(emb)
        h = torch.cat([h[0], h[1]], dim=-1)
        scores = self.fc(h)
        if self.log_probs:
            scores = torch.log_softmax(scores, dim=-1)
        return scores


def make_commands(n, vocab, n_intents, length=10):
    keywords = torch.randperm(vocab - 1)[: n_intents * 3].view(n_intents, 3) + 1
    intents = torch.randint(0, n_intents, (n,))
    tokens = torch.randint(1, vocab, (n, length))
    for i in range(n):
        where = torch.randperm(length - 3)[:2]
        which = torch.randperm(3)[:2]
        tokens[i, where] = keywords[intents[i], which]
        tokens[i, length - int(torch.randint(0, 3, (1,))):] = 0
    return tokens, intents


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    vocab, n_intents, bs = 120, 7, 32
    tokens, intents = make_commands(10 * bs, vocab, n_intents)
    data = [(tokens[i:i + bs], intents[i:i + bs]) for i in range(0, len(tokens), bs)]
    model = IntentClassifier(vocab, n_intents, log_probs=fixed)
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        tokens, intents = batch
        return criterion(model(tokens), intents)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
