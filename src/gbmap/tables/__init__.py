"""Raw tables in, models over them out: files of many formats, what their columns are, one fit of them."""

from gbmap.tables.errors import TableError
from gbmap.tables.model import TableModel
from gbmap.tables.reading import Table, open_table
from gbmap.tables.schema import Column, Form, Schema
from gbmap.tables.writing import write_table

__all__ = ["Column", "Form", "Schema", "Table", "TableError", "TableModel", "open_table", "write_table"]
