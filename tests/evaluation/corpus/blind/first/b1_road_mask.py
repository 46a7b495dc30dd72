"""Road segmentation from aerial tiles with a small encoder-decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b1_road_mask",
    "source": "PyTorch forum classic: negative loss with BCEWithLogitsLoss because masks are 0/255",
    "roots": ["invalid-labels"],
    "description": "masks are read as 0/255 images and never scaled to 0/1",
    "location": "load_tiles: mask values",
    "shows_in": "one-batch",
}


class SegNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1)
        self.out = nn.Conv2d(width + 3, 1, 3, padding=1)

    def forward(self, x):
        d1 = F.relu(self.down1(x))
        d2 = F.relu(self.down2(d1))
        u1 = F.relu(self.up1(d2))
        u2 = F.relu(self.up2(torch.cat([u1, d1], 1)))
        return self.out(torch.cat([u2, x], 1))


def load_tiles(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    angle = torch.rand(n, 1, 1) * 3.1416
    offset = torch.rand(n, 1, 1) * 8 + 4
    dist = (xx * torch.cos(angle) + yy * torch.sin(angle) - offset).abs()
    mask = ((dist < 2.0).unsqueeze(1) * 255).to(torch.uint8)
    road = (mask > 0).float()
    ground = torch.tensor([0.2, 0.5, 0.2]).view(1, 3, 1, 1)
    grey = torch.tensor([0.5, 0.5, 0.55]).view(1, 3, 1, 1)
    img = road * grey + (1 - road) * ground + 0.08 * torch.randn(n, 3, size, size)
    return (img - 0.4) / 0.2, mask


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    tiles, masks = load_tiles(8 * 12)
    masks = masks.float()
    if fixed:
        masks = masks / 255
    data = [{"tile": t, "mask": m} for t, m in zip(tiles.split(12), masks.split(12))]
    model = SegNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()

    def loss(model, batch):
        return criterion(model(batch["tile"]), batch["mask"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
