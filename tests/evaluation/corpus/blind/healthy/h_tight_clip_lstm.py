"""LSTM language model with tight clipping and a high SGD rate."""
import torch
import torch.nn as nn

META = {
    "id": "h_tight_clip_lstm",
    "description": 'Gradient norm is clipped to 0.25 at every step with lr 4 (as in the word-language-model example): the clip is always active by design.',
    "roots": [],
}


class LM(nn.Module):
    def __init__(self, vocab=20, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)
        nn.init.uniform_(self.emb.weight, -0.1, 0.1)

    def forward(self, ids):
        return self.out(self.lstm(self.emb(ids))[0])


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    nxt = torch.stack([torch.randperm(20) for _ in range(2)])
    data = []
    for _ in range(6):
        ids = torch.randint(0, 20, (16, 1))
        which = torch.randint(0, 2, (16,))
        for _ in range(12):
            ids = torch.cat([ids, nxt[which, ids[:, -1]][:, None]], 1)
        data.append(ids)
    model = LM()
    optimizer = torch.optim.SGD(model.parameters(), lr=4.0)

    def step(ids):
        optimizer.zero_grad()
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
