"""Sentence classification: the head is warmed up first, then the encoder is unfrozen."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_unfreeze",
    "source": "own experience (gradual unfreezing as in ULMFiT); cf. CASES.md mmpretrain-702",
    "roots": ["frozen-parameters"],
    "description": "the encoder should be unfrozen after the warm-up steps, but the counter that decides it is never advanced",
    "location": "embed and rnn (requires_grad stays False)",
    "shows_in": "one-batch",
}


class SentenceNet(nn.Module):
    def __init__(self, vocab=40, dim=16, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 24, batch_first=True)
        self.head = nn.Linear(24, classes)

    def forward(self, tokens):
        _, h = self.rnn(self.embed(tokens))
        return self.head(h[-1])


class FineTuner:
    def __init__(self, model, warmup_steps, count):
        self.model, self.warmup_steps, self.count = model, warmup_steps, count
        self.seen = 0
        self.set_encoder(False)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def set_encoder(self, flag):
        for part in (self.model.embed, self.model.rnn):
            for p in part.parameters():
                p.requires_grad_(flag)

    def __call__(self, batch):
        tokens, label = batch
        if self.seen == self.warmup_steps:
            self.set_encoder(True)
        if self.count:
            self.seen += 1
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(tokens), label)
        loss.backward()
        self.optimizer.step()
        return loss


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tokens = torch.randint(0, 40, (320, 12))
    label = (tokens == 7).sum(1) + 2 * (tokens == 3).sum(1) + (tokens[:, 0] > 20).long()
    label = label.clamp(max=4)
    data = [(tokens[i:i + 40], label[i:i + 40]) for i in range(0, 320, 40)]
    tuner = FineTuner(SentenceNet(), warmup_steps=4, count=fixed)
    return {"model": tuner.model, "optimizer": tuner.optimizer, "data": data, "step": tuner}
