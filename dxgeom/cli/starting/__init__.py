"""The commands for a start: examples, and a policy from one's own table."""
