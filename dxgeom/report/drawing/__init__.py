"""Pictures as data: marks in the numbers that they show, drawn as SVG for pages and on matplotlib's axes for Python.

Lives here: the model of a picture, both ways to draw it (matplotlib in one file), and a file per picture. Knows no
policies, plans or ledgers.
"""
