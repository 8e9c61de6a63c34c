"""The choice of a mechanism before any data is read, and the release that follows."""
