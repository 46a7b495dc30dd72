"""Multi-task face attributes: age regression and expression classification on a shared trunk."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_multitask_cleared",
    "source": "own experience; multi-task loops with one zero_grad per loss",
    "roots": ["gradients-cleared-before-step"],
    "description": "zero_grad() before the second task's backward wipes out the gradients of the first task before the step",
    "location": "step: second optimizer.zero_grad()",
    "shows_in": "one-batch",
}


class FaceAttributes(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(24 * 16, d), nn.ReLU(),
        )
        self.age = nn.Linear(d, 1)
        self.expression = nn.Linear(d, 5)

    def forward(self, x):
        z = self.trunk(x)
        return self.age(z).squeeze(1), self.expression(z)


def faces(n, g):
    shared = torch.Generator().manual_seed(14)
    expr_proto = torch.randn(5, 16, 16, generator=shared)
    wrinkle = torch.randn(16, 16, generator=shared)
    expr = torch.randint(0, 5, (n,), generator=g)
    age = torch.randn(n, generator=g)
    x = 0.6 * expr_proto[expr] + 0.6 * age.view(-1, 1, 1) * wrinkle + 0.2 * torch.randn(n, 16, 16, generator=g)
    return x.unsqueeze(1), age, expr


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    x, age, expr = faces(8 * 24, g)
    data = [dict(image=a, age=b, expr=c) for a, b, c in zip(x.split(24), age.split(24), expr.split(24))]
    model = FaceAttributes()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(batch):
        age_pred, expr_logits = model(batch["image"])
        age_loss = F.smooth_l1_loss(age_pred, batch["age"])
        expr_loss = F.cross_entropy(expr_logits, batch["expr"])

        optimizer.zero_grad()
        expr_loss.backward(retain_graph=True)
        if not fixed:
            optimizer.zero_grad()
        age_loss.backward()
        optimizer.step()
        return age_loss + expr_loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
