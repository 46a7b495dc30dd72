"""Regularised logistic regression by LBFGS."""
import torch
import torch.nn as nn

META = {
    "id": "h_lbfgs_logistic",
    "description": 'Convex problem from a zero start, L2 term in the loss by hand, full-batch LBFGS (the data list holds the same batch four times); the loss stops at the regularised optimum.',
    "roots": [],
}


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    w = torch.randn(12)
    x = torch.randn(64, 12)
    y = (x @ w + 0.3 * torch.randn(64) > 0).float()
    data = [(x, y)] * 4                          # full batch
    model = nn.Linear(12, 1)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=5, line_search_fn="strong_wolfe")

    def step(batch):
        x, y = batch

        def closure():
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y) + 1e-3 * model.weight.pow(2).sum()
            loss.backward()
            return loss

        return optimizer.step(closure)

    return {"model": model, "optimizer": optimizer, "data": data, "step": step}
