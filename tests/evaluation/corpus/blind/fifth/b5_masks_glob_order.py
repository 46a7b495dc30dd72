"""Road segmentation: images and masks are loaded from two file lists."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_masks_glob_order",
    "source": "own experience",
    "roots": ["labels-not-aligned"],
    "description": "the mask list is sorted as text (0, 1, 10, 11, ...), the image list by number: masks belong to other images",
    "location": "RoadDataset.__init__: self.masks order",
    "shows_in": "full-data",
}


def render(number, variant, size=16):
    """A 'file' on disk: image and mask with the given number."""
    g = torch.Generator().manual_seed(1000 * (variant + 1) + number)
    x = torch.arange(size).float()
    centre = 3 + 10 * torch.rand(1, generator=g) + 3 * torch.sin(x / 4 + 6 * torch.rand(1, generator=g))
    mask = ((x.view(1, -1) - centre.view(-1, 1)).abs() < 2).float()
    image = torch.stack([mask, 1 - mask, mask]) * 2 - 1 + 0.4 * torch.randn(3, size, size, generator=g)
    return image, mask


class RoadDataset:
    def __init__(self, numbers, same_order, variant=0):
        self.variant = variant
        self.images = sorted(numbers)
        self.masks = sorted(numbers) if same_order else sorted(numbers, key=str)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return render(self.images[i], self.variant)[0], render(self.masks[i], self.variant)[1]

    def batches(self, size, order):
        for k in range(0, len(order), size):
            items = [self[i] for i in order[k:k + size]]
            yield torch.stack([a for a, _ in items]), torch.stack([b for _, b in items])


class SegNet(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(ch, 2 * ch, 3, padding=1), nn.ReLU(), nn.Conv2d(2 * ch, ch, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(2 * ch, 1, 1)

    def forward(self, x):
        e = self.enc(x)
        m = F.interpolate(self.mid(F.max_pool2d(e, 2)), scale_factor=2)
        return self.out(torch.cat([e, m], 1)).squeeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    numbers = list(range(96))
    dataset = RoadDataset(numbers, same_order=fixed, variant=seed)
    order = torch.randperm(len(dataset)).tolist()
    data = list(dataset.batches(12, order))
    model = SegNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(model, batch):
        image, mask = batch
        return F.binary_cross_entropy_with_logits(model(image), mask)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
