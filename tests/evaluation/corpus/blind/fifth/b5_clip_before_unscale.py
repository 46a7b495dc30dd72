"""Image denoiser trained with a GradScaler and gradient clipping."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_clip_before_unscale",
    "source": "Lightning #9599, milesial/Pytorch-UNet #468, pytorch/examples #1196 (clipping before unscale_)",
    "roots": ["bad-gradient-clipping"],
    "description": "gradients are clipped to norm 1 while still multiplied by the loss scale 65536, so after unscaling next to nothing is left",
    "location": "step: clip_grad_norm_ without scaler.unscale_(optimizer)",
    "shows_in": "one-batch",
}


class DnCNN(nn.Module):
    """Predicts the noise; the clean image is the input minus the prediction."""

    def __init__(self, ch=16, depth=3):
        super().__init__()
        layers = [nn.Conv2d(1, ch, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch), nn.ReLU()]
        layers.append(nn.Conv2d(ch, 1, 3, padding=1))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def textures(n, size, g):
    axis = torch.arange(size).float()
    fx, fy, ph = torch.rand(3, n, 1, 1, generator=g)
    clean = torch.sin(0.3 * (1 + fx) * axis.view(1, 1, -1) + 0.3 * (1 + fy) * axis.view(1, -1, 1) + 6.28 * ph)
    noise = torch.sign(torch.randn(n, size, size, generator=g)) * (torch.rand(n, size, size, generator=g) < 0.15) * 3.0
    return (clean + noise).unsqueeze(1), noise.unsqueeze(1)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    noisy, noise = textures(6 * 8, 16, g)
    data = list(zip(noisy.split(8), noise.split(8)))
    model = DnCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=True)

    def step(batch):
        x, target = batch
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(x), target)
        scaler.scale(loss).backward()
        if fixed:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
