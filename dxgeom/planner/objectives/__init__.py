"""What plans make small, and when an answer is too inexact to be of use. Touches mechanisms; no candidates, no data."""
