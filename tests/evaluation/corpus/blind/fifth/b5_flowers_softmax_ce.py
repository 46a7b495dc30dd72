"""Flower photo classifier, CNN with BatchNorm, ported from a Keras tutorial."""
import torch
import torch.nn as nn

META = {
    "id": "b5_flowers_softmax_ce",
    "source": "CASES.md: TheDeepChecker 57605741 / 50032197, NervanaSystems/distiller 0a8a3b3",
    "roots": ["double-softmax"],
    "description": "the network ends in Softmax and is trained with CrossEntropyLoss",
    "location": "FlowerNet.classifier[-1]",
    "shows_in": "one-batch",
}


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class FlowerNet(nn.Module):
    def __init__(self, n_classes, with_softmax=True):
        super().__init__()
        self.block1 = conv_block(3, 12)
        self.block2 = conv_block(12, 24)
        head = [nn.Flatten(), nn.Linear(24 * 4 * 4, 64), nn.ReLU(), nn.Linear(64, n_classes)]
        if with_softmax:
            head.append(nn.Softmax(dim=1))
        self.classifier = nn.Sequential(*head)

    def forward(self, x):
        return self.classifier(self.block2(self.block1(x)))


def photos(n, n_classes, g):
    shared = torch.Generator().manual_seed(21)
    colour = torch.randn(n_classes, 3, 1, 1, generator=shared)
    texture = torch.randn(n_classes, 1, 16, 16, generator=shared)
    y = torch.randint(0, n_classes, (n,), generator=g)
    x = colour[y] + 0.7 * texture[y] + 0.5 * torch.randn(n, 3, 16, 16, generator=g)
    return (x - x.mean()) / x.std(), y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, y = photos(6 * 24, 17, g)
    data = list(zip(x.split(24), y.split(24)))
    model = FlowerNet(17, with_softmax=not fixed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    def loss(model, batch):
        images, labels = batch
        return criterion(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
