"""Attribute kinds: each form in which a policy states an attribute's values, whole in one class.

A kind says how it is written, what it means, and along which axes distances between its values run. A new one is one
class and one line in ``attribute_kinds``.

Touches ``source``, ``axes`` and ``universe``; knows neither rules nor policies.
"""
