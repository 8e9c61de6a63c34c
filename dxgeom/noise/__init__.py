"""Samplers shaped by a body. They speak shapes, never metrics."""
