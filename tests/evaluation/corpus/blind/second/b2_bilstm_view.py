"""BiLSTM sentence classifier that joins the last hidden states of both directions."""
import torch
from torch import nn
import torch.nn.functional as F

META = {
    "id": "b2_bilstm_view",
    "source": "timbmg/Sentence-VAE #15",
    "roots": ["batch-mixing"],
    "description": "h_n of shape (2, B, H) is reshaped with view(B, 2H), which joins states of different sentences",
    "location": "hidden.view(batch_size, -1)",
    "shows_in": "wiring",
}
VOCAB = 40


class SentenceNet(nn.Module):
    def __init__(self, dim=24, hidden=32, n_classes=3, fixed=False):
        super().__init__()
        self.fixed = fixed
        self.embedding = nn.Embedding(VOCAB, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.classifier = nn.Sequential(nn.Linear(2 * hidden, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, ids):
        batch_size = ids.size(0)
        _, (hidden, _) = self.rnn(self.embedding(ids))
        if self.fixed:
            hidden = hidden.transpose(0, 1)
        hidden = hidden.reshape(batch_size, -1)
        return self.classifier(hidden)


def make_data(n_batches=10, batch_size=32, length=10):
    mood = torch.randn(VOCAB)
    data = []
    for _ in range(n_batches):
        ids = torch.randint(0, VOCAB, (batch_size, length))
        score = mood[ids].sum(1) / length ** 0.5
        y = (score > -0.45).long() + (score > 0.45).long()
        data.append((ids, y))
    return data


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = make_data()
    model = SentenceNet(fixed=fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss(model, batch):
        ids, y = batch
        return F.cross_entropy(model(ids), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
