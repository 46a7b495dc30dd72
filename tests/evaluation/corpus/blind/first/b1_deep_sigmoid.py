"""Inverse kinematics of a planar arm with a deep fully connected network."""
import torch
import torch.nn as nn

META = {
    "id": "b1_deep_sigmoid",
    "source": "CASES.md C 50209981 (cross entropy stays the same: vanishing gradient)",
    "roots": ["vanishing-gradients"],
    "description": "twelve sigmoid hidden layers in a row with default initialisation",
    "location": "ArmNet.act = nn.Sigmoid",
    "shows_in": "one-batch",
}


class ArmNet(nn.Module):
    def __init__(self, act, depth=12, width=64):
        super().__init__()
        layers = [nn.Linear(4, width), act()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), act()]
        layers.append(nn.Linear(width, 3))
        self.layers = nn.Sequential(*layers)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, pose):
        return self.layers(pose)


def sample_poses(n):
    joints = torch.rand(n, 3) * 1.6 - 0.8
    lengths = torch.tensor([1.0, 0.8, 0.5])
    angle = joints.cumsum(dim=1)
    x = (lengths * torch.cos(angle)).sum(1)
    y = (lengths * torch.sin(angle)).sum(1)
    tip = angle[:, 2]
    pose = torch.stack([x, y, torch.sin(tip), torch.cos(tip)], dim=1)
    pose = (pose - pose.mean(0)) / pose.std(0)
    return pose, joints


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    batch_size = 48
    pose, joints = sample_poses(10 * batch_size)
    data = list(zip(pose.split(batch_size), joints.split(batch_size)))
    model = ArmNet(nn.ReLU if fixed else nn.Sigmoid)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    mse = nn.MSELoss()

    def loss(model, batch):
        pose, joints = batch
        return mse(model(pose), joints)

    return {"model": model, "optimizer": optimizer, "data": data, "loss": loss}
