import torch, torch.nn as nn
META = {"id": "b8_callbacks_order", "source": "callback-driven trainers", "roots": ["empty-optimizer-steps", "gradients-cleared-before-step"], "checks": [],
 "description": "the callbacks are run in the wrong order (zero, step, then backward): every optimizer step sees no gradients",
 "location": "the callback list in build"}

class Loop:
    def __init__(self, net, opt, crit, order):
        self.net, self.opt, self.crit = net, opt, crit
        self.cbs = [getattr(self, "on_" + n) for n in order]
    def on_forward(self):
        self.loss = self.crit(self.net(self.x), self.y)
    def on_zero(self):
        self.opt.zero_grad()
    def on_backward(self):
        self.loss.backward()
    def on_step(self):
        self.opt.step()
    def __call__(self, batch):
        self.x, self.y = batch
        for cb in self.cbs:
            cb()
        return self.loss.detach()

class HouseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(12, 1)
        self.deep = nn.Sequential(nn.Linear(12, 48), nn.SELU(), nn.Linear(48, 48), nn.SELU(), nn.Linear(48, 1))
    def forward(self, x):
        return self.wide(x) + self.deep(x)

def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(12, 1)
    data = []
    for _ in range(8):
        x = torch.randn(48, 12)
        data.append((x, x @ w + torch.relu(x[:, :1] * 2) + 0.1 * torch.randn(48, 1)))
    net = HouseNet()
    opt = torch.optim.Adamax(net.parameters(), lr=1e-2)
    order = ["forward", "zero", "backward", "step"] if fixed else ["forward", "zero", "step", "backward"]
    return {"model": net, "optimizer": opt, "data": data, "step": Loop(net, opt, nn.HuberLoss(), order)}
