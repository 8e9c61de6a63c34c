"""Which mechanism answers given queries best, and the release that follows."""
