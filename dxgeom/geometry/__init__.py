"""Convex bodies: symmetric norm balls, their corners and facets, and proofs that one holds another."""
