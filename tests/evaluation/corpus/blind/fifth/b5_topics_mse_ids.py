"""News-topic classifier (Reuters style) on tf-idf vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F

META = {
    "id": "b5_topics_mse_ids",
    "source": "CASES.md: TheDeepChecker 50641866 (MSE for classification), 38399609, DeepFD 34673164",
    "roots": ["wrong-loss-for-task"],
    "description": "20 unordered topics are learnt as a regression on the topic id with MSE",
    "location": "loss: F.mse_loss on topic ids, TopicMLP.fc3 with one output",
    "shows_in": "full-data",
}

N_TOPICS = 20


class TopicMLP(nn.Module):
    def __init__(self, n_words, n_out):
        super().__init__()
        self.fc1 = nn.Linear(n_words, 128)
        self.drop = nn.Dropout(0.1)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, n_out)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(self.drop(x)))
        return self.fc3(x)


def corpus(n, n_words, seed):
    g = torch.Generator().manual_seed(seed)
    shared = torch.Generator().manual_seed(99)
    profile = torch.rand(N_TOPICS, n_words, generator=shared) ** 3
    topic = torch.randint(0, N_TOPICS, (n,), generator=g)
    tf = torch.poisson(profile[topic] * 2.0, generator=g)
    tfidf = torch.log1p(tf)
    return F.normalize(tfidf, dim=1) * n_words ** 0.5, topic


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    x, y = corpus(8 * 40, 200, seed)
    data = list(zip(x.split(40), y.split(40)))
    model = TopicMLP(200, N_TOPICS if fixed else 1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    def loss(model, batch):
        docs, topic = batch
        out = model(docs)
        if fixed:
            return F.cross_entropy(out, topic)
        return F.mse_loss(out.squeeze(1), topic.float())

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
