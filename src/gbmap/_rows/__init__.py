"""The seam: where data lives, as rows that the engine can ask."""
