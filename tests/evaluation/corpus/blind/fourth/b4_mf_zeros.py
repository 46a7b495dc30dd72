"""Matrix factorisation of a play-count table."""
import torch
import torch.nn as nn

META = {
    "id": "b4_mf_zeros",
    "source": "CASES.md 55006469 / 48027263 (symmetry never broken)",
    "roots": ["bad-initialization"],
    "description": "both factor tables start at zero, so each one's gradient is exactly zero for ever",
    "location": "artist.weight, listener.weight",
    "shows_in": "one-batch",
}


class Factors(nn.Module):
    def __init__(self, listeners, artists, rank, std):
        super().__init__()
        self.listener = nn.Embedding(listeners, rank)
        self.artist = nn.Embedding(artists, rank)
        self.listener_bias = nn.Embedding(listeners, 1)
        self.artist_bias = nn.Embedding(artists, 1)
        for table in (self.listener_bias, self.artist_bias):
            nn.init.zeros_(table.weight)
        for table in (self.listener, self.artist):
            if std > 0:
                nn.init.normal_(table.weight, std=std)
            else:
                nn.init.zeros_(table.weight)

    def forward(self, pairs):
        u, a = pairs[:, 0], pairs[:, 1]
        dot = (self.listener(u) * self.artist(a)).sum(1)
        return dot + self.listener_bias(u).squeeze(1) + self.artist_bias(a).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_listener, n_artist = 30, 40
    p, q = torch.randn(n_listener, 4), torch.randn(n_artist, 4)
    table = p @ q.T
    every = torch.cartesian_prod(torch.arange(n_listener), torch.arange(n_artist))
    every = every[torch.randperm(len(every))][:512]
    log_plays = table[every[:, 0], every[:, 1]]
    data = list(zip(every.split(64), log_plays.split(64)))
    model = Factors(n_listener, n_artist, 16, std=0.3 if fixed else 0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)

    def loss(model, batch):
        pairs, plays = batch
        return (model(pairs) - plays).pow(2).mean()

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
