"""Deep MLP for a tabular credit score."""
import torch
import torch.nn as nn

META = {
    "id": "b4_deep_sigmoid",
    "source": "CASES.md 50209981 / vanish",
    "roots": ["vanishing-gradients"],
    "description": "ten sigmoid layers in a row without skip or normalisation; nothing reaches the first layers",
    "location": "activation of the hidden layers",
    "shows_in": "one-batch",
}


def make_mlp(n_in, width, depth, activation):
    layers = [nn.Linear(n_in, width), activation()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), activation()]
    layers.append(nn.Linear(width, 1))
    net = nn.Sequential(*layers)
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.xavier_normal_(m.weight, gain=nn.init.calculate_gain(activation.__name__.lower()))
            nn.init.zeros_(m.bias)
    return net


def applicants(n):
    income, debt, age = torch.randn(n), torch.randn(n), torch.randn(n)
    extra = torch.randn(n, 5)
    score = income - 0.8 * debt + 0.5 * income * debt + 0.3 * age ** 2
    x = torch.cat([torch.stack([income, debt, age], 1), extra], 1)
    return x, (score - score.mean()) / score.std()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = applicants(512)
    data = [{"x": a, "score": b} for a, b in zip(x.split(64), y.split(64))]
    model = make_mlp(8, 48, 10, nn.ReLU if fixed else nn.Sigmoid)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss(model, batch):
        return nn.functional.mse_loss(model(batch["x"]).squeeze(1), batch["score"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
