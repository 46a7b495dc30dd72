import numpy as np
import torch
import torch.nn as nn

META = {"id": "t9_fruit_grades", "source": "fruit grading application, one reader with OpenCV and one with PIL",
        "roots": ["unnormalized-inputs", "overfitting"], "checks": ["generalizes"],
        "description": "validation pictures are read as BGR, training pictures as RGB",
        "location": "read_folder(..., order='bgr') for validation; the list of causes has no exact name"}

# green, turning, ripe, rotten
COLOURS = np.array([[60, 150, 50], [170, 150, 50], [200, 50, 40], [90, 60, 50]], dtype=np.float32)
MEAN, STD = (130.0, 102.0, 48.0), (58.0, 49.0, 27.0)


def take_pictures(n, rng):
    yy, xx = np.mgrid[0:12, 0:12]
    pics, grades = [], rng.integers(0, 4, n)
    for k in grades:
        cy, cx, r = rng.uniform(4, 8), rng.uniform(4, 8), rng.uniform(3, 5)
        fruit = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r)[..., None]
        background = rng.uniform(60, 190) * np.array([1.0, 0.85, 0.4])
        pic = np.where(fruit, COLOURS[k] * rng.uniform(0.75, 1.2), background)
        pics.append(pic + rng.normal(0, 14, (12, 12, 3)))
    return np.stack(pics).clip(0, 255).astype("float32"), grades.astype("int64")


def read_folder(pics, order="rgb"):
    if order == "bgr":
        pics = pics[..., ::-1].copy()
    x = torch.from_numpy(pics).permute(0, 3, 1, 2)
    return (x - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.GroupNorm(4, o), nn.ReLU())


def build(fixed=False, seed=0):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed + 9)
    train_pics, train_grades = take_pictures(1280, rng)
    val_pics, val_grades = take_pictures(320, rng)
    x, y = read_folder(train_pics), torch.from_numpy(train_grades)
    vx, vy = read_folder(val_pics, order="rgb" if fixed else "bgr"), torch.from_numpy(val_grades)

    model = nn.Sequential(conv(3, 16), conv(16, 32), nn.Flatten(), nn.Linear(32 * 9, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    def training_loss(model, batch):
        images, grades = batch
        return criterion(model(images), grades)

    return {"model": model, "optimizer": optimizer, "loss": training_loss,
            "data": list(zip(x.split(32), y.split(32))), "val": list(zip(vx.split(64), vy.split(64)))}
