"""Mistakes that people make, as calls; what each is answered with stands in ``golden/mistakes``, a text each."""
