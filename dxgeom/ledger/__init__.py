"""The account of spent budget, kept in one append-only file."""
