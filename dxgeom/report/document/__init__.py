"""One model of what a reader is shown, and its four forms: text, a page, JSON, a part of a notebook.

Lives here: blocks, and the forms; Jinja2 in one file. Knows no policies, plans or ledgers.
"""
