"""Queries files: what to ask, in words, over the universe of a policy. The language beside the policy language.

Touches ``policy`` for its readers of text, and ``universe``.
"""
