"""Gas sensor classification; the model is cast to float16 to save memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_half_adam",
    "source": "CASES.md C 50975389, 42064941 (Adam epsilon in float16)",
    "roots": ["low-precision-overflow"],
    "description": "pure float16 weights with Adam's eps=1e-8, which rounds to zero in half precision: 0/0 in the update",
    "location": "model.half() with Adam eps=1e-8",
    "shows_in": "nan",
}


class GasNet(nn.Module):
    def __init__(self, n_in=16, hidden=64, n_gases=6):
        super().__init__()
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_gases)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def sample_gases(n, n_in=16, n_gases=6):
    response = torch.rand(n_gases, n_in) * 2
    gas = torch.randint(0, n_gases, (n,))
    conc = 0.5 + torch.rand(n, 1)
    x = torch.tanh(response[gas] * conc) + 0.08 * torch.randn(n, n_in)
    return (x - x.mean(0)) / x.std(0), gas


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 32
    x, gas = sample_gases(10 * batch_size)
    model = GasNet()
    if not fixed:
        model = model.half()
        x = x.half()
    data = [(x[i:i + batch_size], gas[i:i + batch_size]) for i in range(0, len(x), batch_size)]
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-8)

    def loss(model, batch):
        x, gas = batch
        return F.cross_entropy(model(x).float(), gas)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
