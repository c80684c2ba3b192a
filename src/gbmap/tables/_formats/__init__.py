"""The formats of files with tables: one file for each, all of which give rows as batches of arrow's."""
