"""Randomised maps, each with the guarantee it gives and its exact error."""
