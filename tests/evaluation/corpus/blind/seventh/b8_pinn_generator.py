import torch, torch.nn as nn
META = {"id": "b8_pinn_generator", "source": "PINN scripts which keep params = model.parameters()", "roots": ["missing-zero-grad"], "checks": [],
 "description": "params is a generator already exhausted by the optimizer; the clearing loop over it does nothing, so gradients accumulate for ever",
 "location": "clear_grads(params)"}

class Field(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.l1, self.l2, self.l3 = nn.Linear(1, h), nn.Linear(h, h), nn.Linear(h, 1)
    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))

def clear_grads(params):
    for p in params:
        p.grad = None

def residual(u, x):
    # u' = -2 u + cos(3x), u(0) = 1
    y = u(x)
    dy, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return dy + 2 * y - torch.cos(3 * x)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = [torch.rand(48, 1) * 2 for _ in range(8)]
    model = Field()
    params = model.parameters()
    if fixed:
        params = list(params)
    optimizer = torch.optim.Adam(params, lr=1e-2)
    x0 = torch.zeros(1, 1)
    def step(pts):
        clear_grads(params)
        x = pts.clone().requires_grad_(True)
        loss = residual(model, x).pow(2).mean() + 5 * (model(x0) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
