"""What the review page says, a file per section, and what a change of policy does; all of it as a document.

Lives here: the facts of a policy and what was asked and answered under it, and the sections that tell them. Touches the
policy language, plans, ledgers and metrics; reads no data.
"""
