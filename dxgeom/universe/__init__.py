"""Record types and linear queries over them: attributes, columns, conditions, and tables of weights.

Touches only ``numeric``; knows no distances and no noise.
"""
