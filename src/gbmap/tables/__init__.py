"""Raw tables in, models over them out: text or Parquet files, what their columns are, one fit of them."""

from gbmap.tables.errors import TableError
from gbmap.tables.model import TableModel
from gbmap.tables.reading import Table, open_table
from gbmap.tables.schema import Column, Schema
from gbmap.tables.writing import write_table

__all__ = ["Column", "Schema", "Table", "TableError", "TableModel", "open_table", "write_table"]
