"""LoRA fine-tuning of a pretrained MLP."""
import torch
import torch.nn as nn

META = {
    "id": "h_lora_classifier",
    "description": 'The base is frozen; A is random, B is zero, so A gets no gradient at the first step; only LoRA factors and the new head are in the optimizer.',
    "roots": [],
}


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(r, base.in_features) / base.in_features ** 0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.t()) @ self.B.t()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(20, 6)
    body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    old_head = nn.Linear(64, 6)
    pre = torch.optim.Adam([*body.parameters(), *old_head.parameters()], lr=3e-3)
    for _ in range(150):                         # "pretraining" on the source task
        x = torch.randn(64, 20)
        pre.zero_grad()
        nn.functional.cross_entropy(old_head(body(x)), (x @ w).argmax(1)).backward()
        pre.step()
    w_new = w[:, :3] + 0.5 * torch.randn(20, 3)
    data = []
    for _ in range(8):
        x = torch.randn(32, 20)
        data.append((x, (x @ w_new).argmax(1)))
    model = nn.Sequential(LoRALinear(body[0]), nn.ReLU(), LoRALinear(body[2]), nn.ReLU(), nn.Linear(64, 3))
    model.zero_grad(set_to_none=True)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3, weight_decay=0.0)

    def loss(model, batch):
        x, y = batch
        return nn.functional.cross_entropy(model(x), y)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
