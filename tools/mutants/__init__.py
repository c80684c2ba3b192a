"""A check of the tests: whether a small change to the package makes one of them fail."""
