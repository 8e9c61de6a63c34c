"""Workloads that many people ask for: groups of a column's values, and tables of counts over them."""
