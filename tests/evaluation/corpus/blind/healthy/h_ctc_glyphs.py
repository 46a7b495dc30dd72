"""Character recognition on a strip with CTC."""
import torch
import torch.nn as nn

META = {
    "id": "h_ctc_glyphs",
    "description": 'CTC loss with time-first log-probabilities, blank 0 and ragged targets flattened into one vector.',
    "roots": [],
}


class Recogniser(nn.Module):
    def __init__(self, feats=12, hidden=32, classes=7):
        super().__init__()
        self.rnn = nn.GRU(feats, hidden, bidirectional=True)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, x):                       # x: (T, B, feats)
        h, _ = self.rnn(x)
        return self.out(h).log_softmax(-1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    glyphs = torch.randn(7, 12)
    T, B = 16, 12
    data = []
    for _ in range(6):
        x = 0.2 * torch.randn(T, B, 12)
        targets, lengths = [], torch.randint(2, 5, (B,))
        for b in range(B):
            word = torch.randint(1, 7, (int(lengths[b]),))
            for i, c in enumerate(word):
                x[4 * i:4 * i + 3, b] += glyphs[c]
            targets.append(word)
        data.append((x, torch.cat(targets), torch.full((B,), T), lengths))
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    def loss(model, batch):
        x, targets, in_len, out_len = batch
        return ctc(model(x), targets, in_len, out_len)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
