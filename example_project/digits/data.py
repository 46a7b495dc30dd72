"""Grey 12x12 images of digits, drawn on the fly: nothing to download, the same images on every machine.

Each image is a 5x7 glyph, shifted, faded and covered with noise. A scanner feeds an empty page now and then, so a
few images are blank; `Digits` leaves them out.
"""

from functools import cache

import torch
from torch import Tensor
from torch.utils.data import Dataset

SIZE = 12  # pixels, both ways
CLASSES = 10
BLANK_PAGES = 1 / 250

# One row of seven-pixel-high digits; '#' is ink.
FONT = """
.###.   ..#..   .###.   .###.   ...#.   #####   .###.   #####   .###.   .###.
#...#   .##..   #...#   #...#   ..##.   #....   #....   ....#   #...#   #...#
#...#   ..#..   ....#   ....#   .#.#.   ####.   #....   ...#.   #...#   #...#
#...#   ..#..   ...#.   ..##.   #..#.   ....#   ####.   ..#..   .###.   .####
#...#   ..#..   ..#..   ....#   #####   ....#   #...#   ..#..   #...#   ....#
#...#   ..#..   .#...   #...#   ...#.   #...#   #...#   ..#..   #...#   ....#
.###.   .###.   #####   .###.   ...#.   .###.   .###.   ..#..   .###.   .###.
"""


@cache
def glyphs() -> Tensor:
    """(10, 7, 5), 1 where there is ink."""
    rows = [line.split() for line in FONT.split("\n") if line]
    return torch.tensor([[[float(pixel == "#") for pixel in row[digit]] for row in rows] for digit in range(CLASSES)])


def draw(label: int, random: torch.Generator) -> Tensor:
    """One page: (12, 12), ink near 1, paper near 0."""
    page = torch.zeros(SIZE, SIZE)
    if torch.rand((), generator=random) < BLANK_PAGES:
        return page
    down, right = torch.randint(0, 4, (2,), generator=random) + 1
    page[down : down + 7, right : right + 5] = glyphs()[label]
    contrast = 0.4 + 0.6 * torch.rand((), generator=random)
    noise = 0.1 * torch.randn(SIZE, SIZE, generator=random)
    return (contrast * page + noise).clamp(0, 1)


def standardize(image: Tensor) -> Tensor:
    """Each image on its own: a faded page should look like a fresh one."""
    return (image - image.mean()) / image.std()


class Digits(Dataset[tuple[Tensor, Tensor]]):
    """`samples` pages without the blank ones. Another seed gives other pages: one for training, one for testing."""

    def __init__(self, samples: int = 4000, seed: int = 0) -> None:
        random = torch.Generator().manual_seed(seed)  # our own, so that drawing never disturbs the training's
        labels = torch.randint(0, CLASSES, (samples,), generator=random)
        pages = [draw(int(label), random) for label in labels]
        written = [i for i, page in enumerate(pages) if page.max() > 0]
        # Drawn and standardised once: in __getitem__ it would cost more than the training step.
        self.images = torch.stack([standardize(pages[i]) for i in written]).unsqueeze(1)
        self.labels = labels[written]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.images[index], self.labels[index]
