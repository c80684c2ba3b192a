"""The engine: Gradient Boosting Mapping on NumPy and SciPy, in standard units."""
