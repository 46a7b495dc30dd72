"""Data-parallel training in threads: every batch is cut into shards, gradients are summed."""
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
import torch.nn.functional as F
from torch import nn

META = {
    "id": "b6_sharded_tower",
    "source": "home-made in-process data parallelism with concurrent.futures.as_completed (forum threads on results that differ in the last digits)",
    "roots": ["nondeterministic"],
    "checks": ["is_reproducible"],
    "description": "Shard gradients are added in the order in which the threads finish; float addition is not associative, runs drift apart.",
    "location": "ShardedTrainer.step: for fut in as_completed(futures)",
}


class ShardedTrainer:
    def __init__(self, model, lr, n_shards=6, ordered=False):
        self.model = model
        self.params = list(model.parameters())
        self.opt = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.n_shards = n_shards
        self.ordered = ordered
        self.pool = ThreadPoolExecutor(max_workers=3)

    def shard_grads(self, x, y):
        out = self.model(x)
        loss = F.mse_loss(out, y, reduction="sum")
        grads = torch.autograd.grad(loss, self.params)
        return loss.detach(), grads

    def step(self, batch):
        x, y = batch
        futures = [
            self.pool.submit(self.shard_grads, xs, ys)
            for xs, ys in zip(x.tensor_split(self.n_shards), y.tensor_split(self.n_shards))
        ]
        results = futures if self.ordered else as_completed(futures)
        self.opt.zero_grad(set_to_none=False)
        total = torch.zeros(())
        for p in self.params:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        for fut in results:
            loss, grads = fut.result()
            total += loss
            for p, g in zip(self.params, grads):
                p.grad.add_(g, alpha=1.0 / y.numel())
        self.opt.step()
        return total / y.numel()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    gen = torch.Generator().manual_seed(seed)
    w = torch.randn(12, 3, generator=gen)
    data = []
    for _ in range(8):
        x = torch.randn(50, 12, generator=gen)
        y = torch.tanh(x @ w * 0.4) + 0.3 * x[:, :3] * x[:, 3:6]
        data.append((x, y))
    model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
    trainer = ShardedTrainer(model, lr=0.05, ordered=fixed)
    return {"model": model, "optimizer": trainer.opt, "data": data, "step": trainer.step}
