"""Numbers as values: which raw numbers a code stands for, and the attributes whose cells lie side by side on a line.

Touches ``columns``, ``attributes`` and ``wording`` of its own floor.
"""
