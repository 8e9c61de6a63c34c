"""What a review page is about, before it is said: distances of pairs, errors, released answers.

Touches the policy language, plans, ledgers and metrics; reads no data.
"""
