"""Attack detection from network flow records."""
import torch
import torch.nn as nn

META = {
    "id": "b1_packets",
    "source": "CASES.md B 44066044 (network packets not scaled)",
    "roots": ["unnormalized-inputs"],
    "description": "ports, byte counts and window sizes go into the network unscaled",
    "location": "load_flows: features used as they are",
    "shows_in": "one-batch",
}

N_KINDS = 4


class FlowClassifier(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.fc1 = nn.Linear(n_features, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, N_KINDS)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def load_flows(n):
    kind = torch.randint(0, N_KINDS, (n,))
    k = kind.float()
    port = torch.tensor([443.0, 22.0, 8080.0, 53.0])[torch.where(torch.rand(n) < 0.8, kind, (kind + 1) % 4)]
    src_port = torch.randint(1024, 65535, (n,)).float()
    bytes_out = torch.exp(6 + 1.2 * k + 0.5 * torch.randn(n))
    bytes_in = torch.exp(9 - 0.9 * k + 0.5 * torch.randn(n))
    duration = torch.rand(n) * 30 + 20 * (kind == 2)
    window = torch.randint(0, 65535, (n,)).float()
    ttl = torch.randint(32, 128, (n,)).float()
    flags = (torch.rand(n, 4) < 0.2 + 0.15 * k.unsqueeze(1)).float()
    cols = torch.stack([port, src_port, bytes_out, bytes_in, duration, window, ttl], dim=1)
    return torch.cat([cols, flags], dim=1), kind


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    bs = 64
    x, kind = load_flows(10 * bs)
    if fixed:
        x[:, 2:4] = x[:, 2:4].log()
        x = (x - x.mean(0)) / x.std(0)
    data = [(x[i:i + bs], kind[i:i + bs]) for i in range(0, len(x), bs)]
    model = FlowClassifier(x.shape[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        features, kind = batch
        return criterion(model(features), kind)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
