"""``dxgeom ledger``: a file per command that looks at ledgers."""
