"""JAX: its arrays, as against what it traces, are of a type of jaxlib."""

from gbmap._rows.libraries.jax import Library

__all__ = ["Library"]
