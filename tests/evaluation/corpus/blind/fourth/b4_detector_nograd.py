"""One-box detector: a backbone and a box/class head trained together from scratch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_detector_nograd",
    "source": "own experience (feature extraction copied from the inference script); cf. CASES.md 41780344",
    "roots": ["disconnected-graph"],
    "description": "the training step computes the backbone features under torch.no_grad()",
    "location": "extract() in the training step",
    "shows_in": "one-batch",
}


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 4, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.box = nn.Linear(16, 4)
        self.cls = nn.Linear(16, 3)

    def predict(self, features):
        z = self.pool(features).flatten(1)
        return self.box(z), self.cls(z)


def scenes(n, size=24):
    img = 0.2 * torch.randn(n, 1, size, size)
    box, label = torch.zeros(n, 4), torch.randint(0, 3, (n,))
    for i in range(n):
        w, h = (int(v) for v in torch.randint(5, 10, (2,)))
        x, y = int(torch.randint(0, size - w, (1,))), int(torch.randint(0, size - h, (1,)))
        patch = torch.ones(h, w)
        if label[i] == 1:
            patch[::2] = -1
        elif label[i] == 2:
            patch[:, ::2] = -1
        img[i, 0, y:y + h, x:x + w] += 2 * patch
        box[i] = torch.tensor([x + w / 2, y + h / 2, w, h]) / size
    return img, box, label


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    img, box, label = scenes(192)
    data = [{"image": img[i:i + 24], "box": box[i:i + 24], "label": label[i:i + 24]} for i in range(0, 192, 24)]
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def extract(image):
        if fixed:
            return model.backbone(image)
        with torch.no_grad():
            return model.backbone(image)

    def step(batch):
        model.train()
        features = extract(batch["image"])
        pred_box, logits = model.predict(features)
        loss = 5 * F.smooth_l1_loss(pred_box, batch["box"]) + F.cross_entropy(logits, batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
