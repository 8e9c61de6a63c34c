"""Answering other queries than were asked: a bias known beforehand for less noise.

Touches ``linear`` and everything below it.
"""
