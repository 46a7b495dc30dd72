"""Matrix factorisation for movie ratings."""
import torch
import torch.nn as nn

META = {
    "id": "b1_mf_ratings",
    "source": "PyTorch forum classic: nn.Embedding.from_pretrained freezes its table by default",
    "roots": ["frozen-parameters"],
    "description": "user and movie tables are made with from_pretrained (freeze=True by default) from random vectors",
    "location": "MatrixFactorization.user, .movie",
    "shows_in": "one-batch",
}


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_movies, dim=16, **kwargs):
        super().__init__()
        self.user = nn.Embedding.from_pretrained(0.2 * torch.randn(n_users, dim), **kwargs)
        self.movie = nn.Embedding.from_pretrained(0.2 * torch.randn(n_movies, dim), **kwargs)
        self.user_bias = nn.Embedding(n_users, 1)
        self.movie_bias = nn.Embedding(n_movies, 1)
        self.mu = nn.Parameter(torch.zeros(()))
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.movie_bias.weight)

    def forward(self, user, movie):
        dot = (self.user(user) * self.movie(movie)).sum(-1)
        return dot + self.user_bias(user).squeeze(-1) + self.movie_bias(movie).squeeze(-1) + self.mu


def make_ratings(n, n_users, n_movies, rank=3):
    taste = torch.randn(n_users, rank)
    genre = torch.randn(n_movies, rank)
    user = torch.randint(0, n_users, (n,))
    movie = torch.randint(0, n_movies, (n,))
    rating = 3.2 + 0.6 * (taste[user] * genre[movie]).sum(-1) + 0.1 * torch.randn(n)
    return user, movie, rating.clamp(0.5, 6)


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    n_users, n_movies, bs = 20, 25, 64
    user, movie, rating = make_ratings(12 * bs, n_users, n_movies)
    data = [
        {"user": user[i:i + bs], "movie": movie[i:i + bs], "rating": rating[i:i + bs]}
        for i in range(0, len(user), bs)
    ]
    kwargs = {"freeze": False} if fixed else {}
    model = MatrixFactorization(n_users, n_movies, **kwargs)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=0.02)
    mse = nn.MSELoss()

    def loss(model, batch):
        return mse(model(batch["user"], batch["movie"]), batch["rating"])

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
