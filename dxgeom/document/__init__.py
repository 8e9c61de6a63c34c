"""One model of what a reader is shown, and its forms: text, a page, JSON, a part of a notebook; and its pictures.

Lives here: blocks, scenes as marks in the numbers that they show, and each form; Jinja2 and matplotlib in one file
each. Knows no policies, plans or ledgers.
"""
