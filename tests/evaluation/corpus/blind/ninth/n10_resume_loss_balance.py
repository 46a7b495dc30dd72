import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "n10_resume_loss_balance",
        "source": "multi-task repos that weigh losses by their running averages (dynamic weight average) kept in the trainer only",
        "roots": ["checkpoint-incomplete"], "checks": ["resumes_exactly"],
        "description": "The running averages by which the two task losses are balanced are not in the checkpoint, so the losses are weighed anew after resuming.",
        "location": "build: capture / restore"}


class Balancer:
    def __init__(self, tasks, decay=0.95):
        self.avg, self.decay = {t: 1.0 for t in tasks}, decay

    def __call__(self, losses):
        for k, v in losses.items():
            self.avg[k] = self.decay * self.avg[k] + (1 - self.decay) * v.item()
        norm = sum(1 / (a + 0.05) for a in self.avg.values())
        return sum(v * len(losses) / (self.avg[k] + 0.05) / norm for k, v in losses.items())


class MultiTask(nn.Module):
    def __init__(self, d=14, h=48):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.heads = nn.ModuleDict({"churn": nn.Linear(h, 1), "spend": nn.Linear(h, 1)})

    def forward(self, x):
        z = self.shared(x)
        return {k: m(z).squeeze(1) for k, m in self.heads.items()}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 30)
    w1, w2 = torch.randn(14, generator=g), torch.randn(14, generator=g) / 4
    data = []
    for _ in range(16):
        x = torch.randn(40, 14, generator=g)
        data.append({"x": x, "churn": (x @ w1 > 0).float(), "spend": torch.sin(2 * (x @ w2))})
    model = MultiTask()
    opt = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9)
    balance = Balancer(["churn", "spend"])

    def step(b):
        out = model(b["x"])
        losses = {"churn": F.binary_cross_entropy_with_logits(out["churn"], b["churn"]),
                  "spend": F.mse_loss(out["spend"], b["spend"])}
        opt.zero_grad()
        balance(losses).backward()
        opt.step()
        return sum(v.item() for v in losses.values())

    def capture():
        state = {"model": model.state_dict(), "opt": opt.state_dict()}
        if fixed:
            state["balance"] = balance.avg
        return copy.deepcopy(state)

    def restore(state):
        state = copy.deepcopy(state)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        balance.avg = state.get("balance", balance.avg)

    return {"model": model, "optimizer": opt, "data": data, "step": step, "save": capture, "load": restore}
