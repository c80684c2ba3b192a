"""``gbmap demo``: the whole story on a table that is drawn."""

from __future__ import annotations


def demo() -> int:
    """Run the whole story on a table that is drawn.

    Fits a model to hours of a town and their demand, prints its errors beside
    others, draws the map, explains a row, finds drift and writes a report into
    the current folder.

    For example:
      gbmap demo
    """
    from gbmap.demo import main

    return main()
