"""One fit: rows, what is minimised, and how."""
