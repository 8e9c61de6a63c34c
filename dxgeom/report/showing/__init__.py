"""How policies, metrics, plans, releases and ledgers look in a terminal, in a notebook and as a picture.

Lives here: a line, a short document and a picture for each; lines of progress. ``dxgeom.displayed`` asks for them by
name.
"""
