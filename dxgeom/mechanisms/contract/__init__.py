"""What every mechanism offers, compositions of mechanisms, and what a release tells about groups.

Touches ``metrics``, ``ledger`` accounts and ``numeric``; knows no particular mechanism.
"""
