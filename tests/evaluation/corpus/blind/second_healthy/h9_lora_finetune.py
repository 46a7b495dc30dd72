import math
import torch
from torch import nn
import torch.nn.functional as F

META = {"id": "h9_lora_finetune", "source": "parameter-efficient tuning library", "roots": [], "checks": [],
        "description": "healthy LoRA: base pre-trained inside build and frozen, B zero-initialised, new head at its own rate",
        "location": ""}


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scale, self.drop = alpha / r, nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + self.scale * (self.drop(x) @ self.lora_A.T @ self.lora_B.T)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.head = nn.Linear(16, 64), nn.Linear(64, 64), nn.Linear(64, 4)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return self.head(self.norm(F.gelu(self.fc2(F.gelu(self.fc1(x))))))


def pretrain(net, x, y):
    o = torch.optim.Adam(net.parameters(), lr=3e-3)
    for i in range(60):
        s = slice(i % 8 * 64, i % 8 * 64 + 64)
        o.zero_grad()
        F.cross_entropy(net(x[s]), y[s]).backward()
        o.step()
    net.zero_grad(set_to_none=True)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(16, 4, generator=g)
    x = torch.randn(512, 16, generator=g)
    net = Net()
    pretrain(net, x, (x @ W).argmax(1))
    y2 = ((x @ (W + 0.7 * torch.randn(16, 4, generator=g)))).argmax(1)       # the shifted task
    net.requires_grad_(False)
    net.fc1, net.fc2 = LoRALinear(net.fc1), LoRALinear(net.fc2)
    net.head = nn.Linear(64, 4)
    opt = torch.optim.AdamW([{"params": [p for n, p in net.named_parameters() if "lora" in n], "lr": 8e-3},
                             {"params": net.head.parameters(), "lr": 4e-3}], weight_decay=0.01)
    data = [dict(inputs=a, labels=b) for a, b in zip(x.split(32), y2.split(32))]

    def step(batch):
        net.train()
        loss = F.cross_entropy(net(batch["inputs"]), batch["labels"])
        loss.backward()
        nn.utils.clip_grad_norm_([p for p in net.parameters() if p.requires_grad], 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        return loss.detach()

    return {"model": net, "optimizer": opt, "data": data, "step": step}
