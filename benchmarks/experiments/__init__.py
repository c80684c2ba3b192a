"""What is measured: one module per experiment, each with ``run(settings)`` and a CSV file of its own name."""
