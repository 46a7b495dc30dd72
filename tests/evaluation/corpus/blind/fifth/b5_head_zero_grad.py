"""Intent classification: GRU encoder and head, one optimizer."""
import torch
import torch.nn as nn

META = {
    "id": "b5_head_zero_grad",
    "source": "own experience",
    "roots": ["missing-zero-grad"],
    "description": "only the classifier's gradients are zeroed, those of the encoder add up from step to step",
    "location": "step: classifier.zero_grad() in place of optimizer.zero_grad()",
    "shows_in": "wiring",
}


class IntentModel(nn.Module):
    def __init__(self, vocab=200, d=48, n_intents=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.classifier = nn.Linear(d, n_intents)

    def forward(self, ids):
        _, h = self.encoder(self.embedding(ids))
        return self.classifier(h[-1])


def utterances(n, g):
    intent = torch.randint(0, 8, (n,), generator=g)
    filler = torch.randint(80, 200, (n, 10), generator=g)
    trigger = intent.unsqueeze(1) * 10 + torch.randint(0, 10, (n, 10), generator=g)
    ids = torch.where(torch.rand(n, 10, generator=g) < 0.4, trigger, filler)
    return ids, intent


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    ids, intent = utterances(8 * 32, g)
    data = [{"ids": i, "intent": t} for i, t in zip(ids.split(32), intent.split(32))]
    model = IntentModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def step(batch):
        if fixed:
            optimizer.zero_grad()
        else:
            model.classifier.zero_grad()
        logits = model(batch["ids"])
        loss = criterion(logits, batch["intent"])
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
