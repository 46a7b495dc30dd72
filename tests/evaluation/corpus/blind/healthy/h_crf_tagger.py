"""BiLSTM-CRF tagger with the forward algorithm by hand."""
import torch
import torch.nn as nn

META = {
    "id": "h_crf_tagger",
    "description": 'The loss is log Z minus the gold score; transitions start at zero, padded steps are masked out of both.',
    "roots": [],
}


class BiLSTMCRF(nn.Module):
    def __init__(self, vocab=50, tags=5, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, hidden, bidirectional=True, batch_first=True)
        self.emit = nn.Linear(2 * hidden, tags)
        self.trans = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))

    def nll(self, words, tags):
        mask = words != 0
        e = self.emit(self.lstm(self.emb(words))[0])
        alpha = self.start + e[:, 0]
        gold = self.start[tags[:, 0]] + e[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for t in range(1, words.shape[1]):
            nxt = torch.logsumexp(alpha[:, :, None] + self.trans[None] + e[:, t, None], 1)
            alpha = torch.where(mask[:, t, None], nxt, alpha)
            s = self.trans[tags[:, t - 1], tags[:, t]] + e[:, t].gather(1, tags[:, t:t + 1]).squeeze(1)
            gold = gold + s * mask[:, t]
        return (torch.logsumexp(alpha, 1) - gold).mean()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        words = torch.randint(1, 50, (16, 10))
        tags = words % 5
        tags[:, 1:] = torch.where(words[:, :-1] > 40, (tags[:, 1:] + 1) % 5, tags[:, 1:])
        length = torch.randint(5, 11, (16,))
        words[torch.arange(10)[None] >= length[:, None]] = 0
        data.append((words, tags))
    model = BiLSTMCRF()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def loss(model, batch):
        return model.nll(*batch)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
