"""Small CNN that classifies drawn glyphs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_digits_cnn",
    "source": "CASES.md C 57605741, D redundant_softmax; PyTorch forum classic",
    "roots": ["double-softmax"],
    "description": "forward returns softmax probabilities, nn.CrossEntropyLoss applies log-softmax again",
    "location": "GlyphNet.forward: F.softmax",
    "shows_in": "one-batch",
}


class GlyphNet(nn.Module):
    def __init__(self, n_classes=12, probs=True):
        super().__init__()
        self.probs = probs
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(24 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, n_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(1)
        x = F.relu(self.fc1(x))
        x = self.fc2(x)
        if self.probs:
            return F.softmax(x, dim=1)
        return x


def draw_glyphs(n, n_classes):
    templates = (torch.rand(n_classes, 1, 12, 12) > 0.65).float()
    label = torch.randint(0, n_classes, (n,))
    img = templates[label]
    shift = torch.randint(-1, 2, (n, 2))
    img = torch.stack([torch.roll(im, tuple(s.tolist()), dims=(1, 2)) for im, s in zip(img, shift)])
    img = img + 0.2 * torch.randn_like(img)
    return (img - 0.35) / 0.5, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_classes = 12
    images, labels = draw_glyphs(8 * 32, n_classes)
    data = list(zip(images.split(32), labels.split(32)))
    model = GlyphNet(n_classes, probs=not fixed)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def loss(model, batch):
        inputs, labels = batch
        outputs = model(inputs)
        return criterion(outputs, labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
