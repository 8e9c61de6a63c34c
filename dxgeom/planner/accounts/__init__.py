"""Several workloads from one account: what each has to spend.

Touches all of ``planner``.
"""
