"""The page's numbers and words: odds, guesses, bands, errors, and the glossary. Touches nothing."""
