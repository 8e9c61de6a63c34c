"""Plans of tasks: each kind's own plan, and all of a file as one release.

Touches the mechanisms of each kind, ``planner/releases`` and ``planner/answers``; knows no files.
"""
