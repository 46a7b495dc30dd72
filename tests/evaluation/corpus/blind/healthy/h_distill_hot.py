"""Knowledge distillation at temperature 4."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "h_distill_hot",
    "description": 'The teacher is frozen and in eval mode; KL at T=4 times T squared plus a little cross entropy; dropout in the teacher stays off.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    W = torch.randn(16, 5)
    teacher = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 5))
    opt_t = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(120):
        x = torch.randn(64, 16)
        opt_t.zero_grad()
        F.cross_entropy(teacher(x), (x @ W).argmax(1)).backward()
        opt_t.step()
    teacher.eval().requires_grad_(False)
    data = []
    for _ in range(8):
        x = torch.randn(32, 16)
        data.append((x, (x @ W).argmax(1)))
    student = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 5))
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    T = 4.0

    def loss(model, batch):
        x, y = batch
        with torch.no_grad():
            soft = (teacher(x) / T).log_softmax(1)
        logits = model(x)
        kd = F.kl_div((logits / T).log_softmax(1), soft, log_target=True, reduction="batchmean") * T * T
        return 0.9 * kd + 0.1 * F.cross_entropy(logits, y)

    return {"model": student, "optimizer": optimizer, "data": data, "loss": loss}
