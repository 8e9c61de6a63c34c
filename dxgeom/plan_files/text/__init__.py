"""The text of a plan file: JSON that is the same every time, and numbers in it that are exact. Touches ``numeric``."""
