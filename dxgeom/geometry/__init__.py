"""Convex bodies: symmetric norm balls and the exact proofs about them. Knows nothing of metrics."""
