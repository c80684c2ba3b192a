"""Pictures as small files: the report is read in a repository, whose history keeps every version of them."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

DOTS_PER_INCH, COLOURS = 90, 64
# Okabe and Ito's colours, which the colour-blind can tell apart too.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


# One colour and one mark for a method, on all pictures that show methods side by side.
LOOKS = {
    "gbmap": ("#0072B2", "o"),
    "xgboost": ("#E69F00", "s"),
    "trees": ("#009E73", "^"),
    "linear": ("#7f7f7f", "D"),
    "ivis": ("#CC79A7", "v"),
    "umap": ("#56B4E9", "P"),
}


@dataclass(frozen=True)
class Glance:
    """What the first page says of a section: its question, the finding, a picture, what to know about it."""

    heading: str
    title: str
    picture: str
    text: str


def titled(figure: Any, title: str) -> None:
    """Give a figure its finding as a title, from the left, in lines that fit."""
    from textwrap import fill

    width = int(figure.get_figwidth() * 9.5)
    figure.suptitle(fill(title, width), x=0.01, ha="left", fontsize=12, fontweight="bold")


def save(figure: Any, path: Path) -> None:
    """Write a figure as a PNG with few colours."""
    import matplotlib.pyplot as plt
    from PIL import Image

    stream = BytesIO()
    figure.savefig(stream, dpi=DOTS_PER_INCH)
    plt.close(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(stream) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
