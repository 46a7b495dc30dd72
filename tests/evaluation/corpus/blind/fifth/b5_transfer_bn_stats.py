"""Transfer learning: frozen convolutional backbone with BatchNorm, new classifier head."""
import torch
import torch.nn as nn

META = {
    "id": "b5_transfer_bn_stats",
    "source": "CASES.md: TheDeepChecker 52282108 (fine-tuning with BatchNorm), mmpretrain-702 (frozen stages)",
    "roots": ["frozen-parameters-change"],
    "description": "the backbone is frozen by requires_grad=False, but its BatchNorm layers stay in train mode and their running statistics move",
    "location": "TransferNet.backbone (BatchNorm running_mean / running_var)",
    "shows_in": "wiring",
}


class TransferNet(nn.Module):
    def __init__(self, n_classes, keep_backbone_eval):
        super().__init__()
        self.keep_backbone_eval = keep_backbone_eval
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(32 * 16, 64), nn.ReLU(), nn.Linear(64, n_classes))

    def train(self, mode=True):
        super().train(mode)
        if self.keep_backbone_eval:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain_statistics(backbone, g):
    """Stands in for ImageNet weights: statistics estimated on the source domain."""
    backbone.train()
    with torch.no_grad():
        for _ in range(30):
            backbone(torch.randn(32, 3, 16, 16, generator=g))


def target_domain(n, n_classes, g):
    shared = torch.Generator().manual_seed(8)
    proto = torch.randn(n_classes, 3, 16, 16, generator=shared)
    y = torch.randint(0, n_classes, (n,), generator=g)
    return 0.8 * proto[y] + 0.6 * torch.randn(n, 3, 16, 16, generator=g) + 0.3, y


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    model = TransferNet(7, keep_backbone_eval=fixed)
    pretrain_statistics(model.backbone, g)
    for p in model.backbone.parameters():
        p.requires_grad = False
    model.train()
    x, y = target_domain(6 * 24, 7, g)
    data = list(zip(x.split(24), y.split(24)))
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-3)

    def loss(model, batch):
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
