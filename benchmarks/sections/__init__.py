"""What is reported: one module per section, named like the CSV file of its rows.

Each has ``section(rows)``, which turns them into Markdown. It may have ``finding(rows)``, what was found in a
sentence or two, ``figures(rows)``, pictures by the names of their files, and ``summary(rows)``, how many of
the paper's figures are reached.
"""
