"""Released answers as the tables that other libraries work with."""
