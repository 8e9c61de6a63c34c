"""What no noise errs less than, for workloads of any size: by duality on weights of pairs, and in closed form.

Touches ``mechanisms/linear``.
"""
