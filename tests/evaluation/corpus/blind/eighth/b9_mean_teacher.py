import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {"id": "b9_mean_teacher", "source": "mean-teacher / BYOL repositories whose checkpoints hold only the student",
        "roots": ["checkpoint-incomplete"], "checks": ["resumes_exactly"],
        "description": "the checkpoint holds student, optimizer and counter, but not the averaged teacher, whose outputs are targets of the next steps",
        "location": "MeanTeacher.state_dict"}


class SmallNet(nn.Module):
    def __init__(self, n_in=20, hidden=64, classes=4):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.f(x))


class MeanTeacher:
    def __init__(self, alpha=0.97, lr=0.05, ramp=50, fixed=False):
        self.student = SmallNet()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.opt = torch.optim.SGD(self.student.parameters(), lr=lr, momentum=0.9)
        self.alpha, self.ramp, self.global_step, self.fixed = alpha, ramp, 0, fixed

    def consistency_weight(self):
        return 2.0 * min(1.0, self.global_step / self.ramp)

    @torch.no_grad()
    def update_teacher(self):
        a = min(1 - 1 / (self.global_step + 1), self.alpha)
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(a).add_(s, alpha=1 - a)

    def train_step(self, batch):
        x, x_weak, y, labeled = batch
        out = self.student(x)
        with torch.no_grad():
            target = F.softmax(self.teacher(x_weak), 1)
        sup = F.cross_entropy(out[labeled], y[labeled])
        cons = F.mse_loss(F.softmax(out, 1), target)
        loss = sup + self.consistency_weight() * cons
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.global_step += 1
        self.update_teacher()
        return loss.item()

    def state_dict(self):
        state = {"student": self.student.state_dict(), "opt": self.opt.state_dict(), "global_step": self.global_step}
        if self.fixed:
            state["teacher"] = self.teacher.state_dict()
        return copy.deepcopy(state)

    def load_state_dict(self, state):
        self.student.load_state_dict(state["student"])
        self.opt.load_state_dict(copy.deepcopy(state["opt"]))
        self.global_step = state["global_step"]
        if "teacher" in state:
            self.teacher.load_state_dict(state["teacher"])


def batches(n, size, seed):
    g = torch.Generator().manual_seed(seed + 9)
    centers = torch.randn(4, 20, generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    x = centers[y] + torch.randn(n, 20, generator=g)
    strong = x + 0.3 * torch.randn(n, 20, generator=g)
    weak = x + 0.05 * torch.randn(n, 20, generator=g)
    labeled = torch.arange(n) % 4 == 0
    return list(zip(strong.split(size), weak.split(size), y.split(size), labeled.split(size)))


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    mt = MeanTeacher(fixed=fixed)
    return {"model": mt.student, "optimizer": mt.opt, "data": batches(640, 64, seed), "step": mt.train_step,
            "save": mt.state_dict, "load": mt.load_state_dict}
