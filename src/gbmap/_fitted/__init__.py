"""The fitted model that is asked about, and what all questions to it rest on."""
