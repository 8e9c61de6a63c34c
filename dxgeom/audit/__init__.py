"""Finished claims, re-checked by another route than the one that made them."""
