"""What is reported: one module per section, each with ``section(results)`` that turns rows into Markdown."""
