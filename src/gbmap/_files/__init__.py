"""Files, written whole or not at all, and what the bytes of model files mean. Knows no estimator."""
