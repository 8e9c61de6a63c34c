"""What else a plan could have been: each candidate is built once, when somebody asks. Touches candidates; no data."""
