"""Ledgers that are brought from one store to another, and are one ledger still."""
