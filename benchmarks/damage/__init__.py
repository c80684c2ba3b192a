"""Damaged model files, loaded and used: gbmap's beside those of its peers."""
