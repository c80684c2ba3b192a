"""Benchmarks of gbmap: problems x methods, rows of results in CSV files, and a report made from the rows."""
