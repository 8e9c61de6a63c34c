"""From files to plans, and plans as they are shown. Touches ``terminal`` and ``options``."""
