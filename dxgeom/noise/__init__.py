"""Random vectors and numbers shaped by a body or a table of odds, drawn exactly. Knows shapes, never metrics."""
