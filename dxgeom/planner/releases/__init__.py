"""The steps of a release: what is asked again is found, else it is charged, drawn, stored, and only then shown.

Touches ``mechanisms``, ``engines`` and the ledger.
"""
