"""Image-text style contrastive learning: two encoders and InfoNCE written by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b4_infonce_half",
    "source": "CASES.md huggingface/transformers #12225 / mixed-training-precision-leads-to-nan-of-loss/89900",
    "roots": ["low-precision-overflow", "unstable-operation"],
    "description": "the similarities are cast to float16 and exponentiated: exp(20) is beyond 65504",
    "location": "InfoNCE.forward, exp in half precision",
    "shows_in": "nan",
}


def encoder(n_in, dim=16):
    return nn.Sequential(nn.Linear(n_in, 96), nn.ReLU(), nn.Linear(96, dim))


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = encoder(30)
        self.text = encoder(20)

    def forward(self, image, text):
        return F.normalize(self.image(image), dim=1), F.normalize(self.text(text), dim=1)


class InfoNCE(nn.Module):
    def __init__(self, temperature=0.05, dtype=torch.float32):
        super().__init__()
        self.temperature, self.dtype = temperature, dtype

    def forward(self, a, b):
        similarity = (a @ b.T / self.temperature).to(self.dtype)
        weight = similarity.exp()
        positive = weight.diagonal()
        ratio = positive / weight.sum(dim=1)
        return -ratio.float().log().mean()


def pairs(n):
    concept = torch.randn(n, 6)
    image = torch.tanh(concept @ torch.randn(6, 30)) + 0.05 * torch.randn(n, 30)
    text = torch.tanh(concept @ torch.randn(6, 20)) + 0.05 * torch.randn(n, 20)
    return image, text


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    image, text = pairs(256)
    data = [{"image": image[i:i + 32], "text": text[i:i + 32]} for i in range(0, 256, 32)]
    model = DualEncoder()
    criterion = InfoNCE(dtype=torch.float32 if fixed else torch.float16)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss(model, batch):
        return criterion(*model(batch["image"], batch["text"]))

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
