"""Numbers and words as people read them, wherever they do; the glossary. Touches nothing."""
