"""What a policy amounts to, in words: reviews, sentences, shortest paths rule by rule.

Touches everything in ``policy`` but the policy itself.
"""
