"""Pictures as small files: the report is read in a repository, whose history keeps every version of them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

DOTS_PER_INCH, COLOURS = 90, 64
# Okabe and Ito's colours, which the colour-blind can tell apart too.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


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
