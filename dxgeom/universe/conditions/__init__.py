"""What conditions are made of: tokens, patterns of words, and the codes that a comparison is true of."""
