"""Wine cultivar classification from chemical measurements."""
import torch
import torch.nn as nn

META = {
    "id": "b1_wine_zero",
    "source": "CASES.md C 48027263, 36127436 (symmetry not broken)",
    "roots": ["bad-initialization"],
    "description": "all weights of all linear layers start at zero",
    "location": "init_weights: nn.init.zeros_(m.weight)",
    "shows_in": "one-batch",
}


class WineNet(nn.Module):
    def __init__(self, n_in=13, n_hidden=48, n_out=5):
        super().__init__()
        self.input = nn.Linear(n_in, n_hidden)
        self.hidden = nn.Linear(n_hidden, n_hidden)
        self.output = nn.Linear(n_hidden, n_out)

    def forward(self, x):
        x = torch.tanh(self.input(x))
        x = torch.tanh(self.hidden(x))
        return self.output(x)


def make_wines(n, n_in, n_out):
    profile = torch.randn(n_out, n_in)
    label = torch.randint(0, n_out, (n,))
    mix = torch.eye(n_in) + 0.3 * torch.randn(n_in, n_in)
    x = (profile[label] + 0.5 * torch.randn(n, n_in)) @ mix
    return (x - x.mean(0)) / x.std(0), label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_in, n_out, batch_size = 13, 5, 32
    x, label = make_wines(9 * batch_size, n_in, n_out)
    data = [(x[i:i + batch_size], label[i:i + batch_size]) for i in range(0, len(x), batch_size)]

    def init_weights(m):
        if isinstance(m, nn.Linear):
            if fixed:
                nn.init.xavier_uniform_(m.weight)
            else:
                nn.init.zeros_(m.weight)
            nn.init.zeros_(m.bias)

    model = WineNet(n_in, n_out=n_out)
    model.apply(init_weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        x, label = batch
        return criterion(model(x), label)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
