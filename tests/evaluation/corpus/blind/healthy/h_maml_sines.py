"""MAML on sine regression."""
import torch
import torch.nn as nn

META = {
    "id": "h_maml_sines",
    "description": 'Inner gradient step with create_graph, functional_call with fast weights, outer loss after adaptation; a batch is a list of tasks.',
    "roots": [],
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))

    def forward(self, x):
        return self.net(x)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = []
    for _ in range(6):
        tasks = []
        for _ in range(3):
            amp, ph = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)
            x = torch.rand(20, 1) * 6 - 3
            y = amp * torch.sin(x + ph)
            tasks.append(((x[:10], y[:10]), (x[10:], y[10:])))
        data.append(tasks)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(tasks):
        names, params = zip(*model.named_parameters())
        loss = 0.0
        for (xs, ys), (xq, yq) in tasks:
            fast = params
            for _ in range(2):
                inner = (torch.func.functional_call(model, dict(zip(names, fast)), (xs,)) - ys).pow(2).mean()
                grads = torch.autograd.grad(inner, fast, create_graph=True)
                fast = [p - 0.05 * g for p, g in zip(fast, grads)]
            loss = loss + (torch.func.functional_call(model, dict(zip(names, fast)), (xq,)) - yq).pow(2).mean()
        loss = loss / len(tasks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
