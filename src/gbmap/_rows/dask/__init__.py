"""Rows on a cluster, or on any scheduler of Dask's: the optimiser stays here, the rows stay where they are.

Dask is imported by the functions that call it, so that everything else runs without.
"""

from gbmap._rows.dask.parts import one_fit
from gbmap._rows.dask.reading import DaskChunks, is_collection
from gbmap._rows.dask.rows import DaskRows
from gbmap._rows.dask.table import DaskTable

__all__ = ["DaskChunks", "DaskRows", "DaskTable", "is_collection", "one_fit"]
