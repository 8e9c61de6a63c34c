"""Plans as measurements of other libraries, which keep account of them in their own way beside the ledger."""
