"""Plans, audited without data by a second route: the release's own steps are driven, and what they show is measured.

Nothing here looks at how noise was proved when it was planned or loaded: not at the witness, not at the check that
noise hides, not at the budgets in closed form.
"""
