"""Plans released in instalments: which can be, seals and their key, the steps from a table to a period's answers.

Touches ``planner/releases``, ``mechanisms``, the ledger, and the library that encrypts.
"""
