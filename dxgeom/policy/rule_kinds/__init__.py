"""Rule kinds: each key of a rule that states a bound of its own on one attribute's values, whole in one file.

A kind says how it is written, what it means, and how it reads aloud; the bound it makes says the rest. A new one is one
file and one line in ``rule_kinds``.

Touches ``source``, ``bounds`` and ``universe``; knows neither policies nor the other keys of a rule.
"""
