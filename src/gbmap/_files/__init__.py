"""Model files: what the bytes mean. Nothing here knows an estimator."""
