"""Plans as files: all that decides a release's law, and nothing private; whatever a file says is proved again.

Lives here: writing a plan, reading one, and saying how two differ. Touches the planner, the queries and the policy
language, because a file holds all three; nothing but the command line touches it.
"""
