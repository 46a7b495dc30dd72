"""Churn-segment classifier: a deep fully connected network."""
import torch
import torch.nn as nn

META = {
    "id": "b5_deep_sigmoid",
    "source": "CASES.md: AUTOTRAINER 'vanish', TheDeepChecker 50209981",
    "roots": ["vanishing-gradients"],
    "description": "nine sigmoid hidden layers in a row: the gradient at the first layers is practically nothing",
    "location": "make_mlp: hidden activation",
    "shows_in": "one-batch",
}


def make_mlp(n_in, widths, n_out, act):
    layers, prev = [], n_in
    for w in widths:
        layers += [nn.Linear(prev, w), act()]
        prev = w
    layers.append(nn.Linear(prev, n_out))
    net = nn.Sequential(*layers)
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.kaiming_uniform_(m.weight, nonlinearity="relu")
            nn.init.zeros_(m.bias)
    return net


def customers(n, seed):
    g = torch.Generator().manual_seed(seed)
    shared = torch.Generator().manual_seed(5)
    centers = torch.randn(6, 20, generator=shared) * 1.5
    y = torch.randint(0, 6, (n,), generator=g)
    x = centers[y] + torch.randn(n, 20, generator=g)
    return (x - x.mean(0)) / x.std(0), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = customers(8 * 32, seed)
    data = list(zip(x.split(32), y.split(32)))
    model = make_mlp(20, [96] * 9, 6, nn.ReLU if fixed else nn.Sigmoid)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        features, segment = batch
        return criterion(model(features), segment)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
