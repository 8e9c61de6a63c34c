"""First phases: text, its places, YAML, the mistakes found so far, and the files beside a policy.

Knows no meaning; touches ``universe`` for words and exact numbers.
"""
