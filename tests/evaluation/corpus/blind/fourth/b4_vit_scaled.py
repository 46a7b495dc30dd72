"""Tiny vision transformer on 12x12 shapes, with the linear learning-rate scaling rule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_vit_scaled",
    "source": "own experience (lr = base_lr * batch / 4096 kept from a large-batch recipe); cf. CASES.md lr_zero",
    "roots": ["lr-too-low"],
    "description": "the base learning rate is scaled by batch size over 4096 twice, which leaves about 7e-8",
    "location": "Trainer.__init__, lr",
    "shows_in": "one-batch",
}


class TinyViT(nn.Module):
    def __init__(self, dim=32, classes=4):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.pos = nn.Parameter(torch.randn(1, 9, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        tok = self.patch(img).flatten(2).transpose(1, 2) + self.pos
        return self.head(self.enc(tok).mean(1))


class Trainer:
    base_lr = 2e-3
    reference_batch = 4096

    def __init__(self, model, batch_size, fixed):
        self.model = model
        lr = self.base_lr
        if not fixed:
            scale = batch_size / self.reference_batch
            lr = self.base_lr * scale * scale
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)

    def step(self, batch):
        self.model.train()
        loss = F.cross_entropy(self.model(batch["image"]), batch["label"])
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.opt.step()
        return loss


def shapes(n):
    label = torch.randint(0, 4, (n,))
    img = torch.randn(n, 1, 12, 12) * 0.3
    for i, c in enumerate(label.tolist()):
        r = int(torch.randint(0, 6, (1,)))
        if c == 0:
            img[i, 0, r:r + 2] += 2
        elif c == 1:
            img[i, 0, :, r:r + 2] += 2
        elif c == 2:
            img[i, 0, r:r + 5, r:r + 5] += 2
        else:
            img[i, 0].diagonal().add_(3)
    return img, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, label = shapes(192)
    data = [{"image": img[i:i + 24], "label": label[i:i + 24]} for i in range(0, 192, 24)]
    trainer = Trainer(TinyViT(), 24, fixed)
    return {"model": trainer.model, "optimizer": trainer.opt, "data": data, "step": trainer.step}
