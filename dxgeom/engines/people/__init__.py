"""People with many rows, in data engines: whose rows are whose, in which order, and columns that look like people."""
