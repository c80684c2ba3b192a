"""Models as SQL."""

from gbmap.sql.export import to_sql

__all__ = ["to_sql"]
