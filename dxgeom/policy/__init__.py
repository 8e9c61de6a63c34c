"""The policy language: from a text file to a verified metric, and queries files."""
