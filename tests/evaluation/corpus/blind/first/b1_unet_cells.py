"""U-Net segmentation of round cells in noisy microscope images."""
import torch
import torch.nn as nn

META = {
    "id": "b1_unet_cells",
    "source": "PyTorch forum classic: sigmoid output together with BCEWithLogitsLoss",
    "roots": ["double-softmax"],
    "description": "the U-Net ends in a sigmoid and the loss is BCEWithLogitsLoss, which applies it again",
    "location": "MiniUNet.head: nn.Sigmoid",
    "shows_in": "one-batch",
}


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class MiniUNet(nn.Module):
    def __init__(self, base=8, final=None):
        super().__init__()
        self.enc1 = block(1, base)
        self.enc2 = block(base, base * 2)
        self.mid = block(base * 2, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec2 = block(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.dec1 = block(base * 2, base)
        head = [nn.Conv2d(base, 1, 1)]
        if final is not None:
            head.append(final)
        self.head = nn.Sequential(*head)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(self.pool(e1))
        m = self.mid(self.pool(e2))
        d2 = self.dec2(torch.cat([self.up2(m), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up1(d2), e1], dim=1))
        return self.head(d1)


def make_cells(n, size=20):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(int(torch.randint(2, 5, (1,)))):
            cy, cx = torch.randint(2, size - 2, (2,))
            r = torch.randint(2, 5, (1,))
            masks[i, 0][(yy - cy) ** 2 + (xx - cx) ** 2 <= r ** 2] = 1.0
    images = 1.5 * masks - 0.5 + 0.3 * torch.randn_like(masks)
    return images, masks


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    images, masks = make_cells(6 * 8)
    data = [{"image": a, "mask": b} for a, b in zip(images.split(8), masks.split(8))]
    model = MiniUNet(final=None if fixed else nn.Sigmoid())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return criterion(model(batch["image"]), batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
