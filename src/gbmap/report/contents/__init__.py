"""What is on the page, section by section, as plain numbers: one file per section."""
