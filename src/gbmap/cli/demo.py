"""``gbmap demo``: the whole story on data that comes with scikit-learn."""

from __future__ import annotations


def demo() -> int:
    """Run the whole story on real data, in under a minute.

    Fits a model to data that comes with scikit-learn, prints its scores beside
    others, draws the map, explains a row, finds drift and writes a report into
    the current folder.

    For example:
      gbmap demo
    """
    from gbmap.demo import main

    return main()
