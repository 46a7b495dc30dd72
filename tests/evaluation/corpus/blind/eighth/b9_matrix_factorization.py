import torch
from torch import nn

META = {"id": "b9_matrix_factorization", "source": "recommender tutorials (biased matrix factorisation with zero-initialised tables)",
        "roots": ["bad-initialization"], "checks": [],
        "description": "both factor tables start at zero, so that the gradient of their product is zero and only the biases learn",
        "location": "BiasedMF.__init__"}


class ZeroEmbedding(nn.Embedding):
    def reset_parameters(self):
        self.weight.data.zero_()


class ScaledEmbedding(nn.Embedding):
    def reset_parameters(self):
        self.weight.data.normal_(0, 1.0 / self.embedding_dim)


class BiasedMF(nn.Module):
    """Explicit-feedback matrix factorisation with biases (Spotlight style)."""

    def __init__(self, num_users, num_items, dim=16, fixed=False):
        super().__init__()
        table = ScaledEmbedding if fixed else ZeroEmbedding
        self.user_embeddings = table(num_users, dim)
        self.item_embeddings = table(num_items, dim)
        self.user_biases = ZeroEmbedding(num_users, 1)
        self.item_biases = ZeroEmbedding(num_items, 1)
        self.mu = nn.Parameter(torch.zeros(1))

    def forward(self, user_ids, item_ids):
        dot = (self.user_embeddings(user_ids) * self.item_embeddings(item_ids)).sum(1)
        return dot + self.user_biases(user_ids).squeeze(1) + self.item_biases(item_ids).squeeze(1) + self.mu


class Interactions:
    def __init__(self, n, users, items, seed):
        g = torch.Generator().manual_seed(seed + 47)
        taste, genre = torch.randn(users, 3, generator=g), torch.randn(items, 3, generator=g)
        self.u = torch.randint(0, users, (n,), generator=g)
        self.i = torch.randint(0, items, (n,), generator=g)
        score = (taste[self.u] * genre[self.i]).sum(1) * 0.7 + 0.3 * torch.randn(items, generator=g)[self.i]
        self.r = score + 0.1 * torch.randn(n, generator=g)

    def minibatches(self, size):
        return [{"user": u, "item": i, "rating": r}
                for u, i, r in zip(self.u.split(size), self.i.split(size), self.r.split(size))]


class ExplicitFactorizationModel:
    def __init__(self, net, lr, l2):
        self._net = net
        self._optimizer = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=l2)

    def _fit_batch(self, batch):
        self._net.train()
        predictions = self._net(batch["user"], batch["item"])
        self._optimizer.zero_grad()
        loss = ((batch["rating"] - predictions) ** 2).mean()
        loss.backward()
        self._optimizer.step()
        return loss.item()


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    data = Interactions(2048, users=60, items=50, seed=seed).minibatches(64)
    model = ExplicitFactorizationModel(BiasedMF(60, 50, fixed=fixed), lr=2e-2, l2=0.0)
    return {"model": model._net, "optimizer": model._optimizer, "data": data, "step": model._fit_batch}
