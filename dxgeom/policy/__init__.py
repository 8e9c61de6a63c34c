"""The policy language: from a text file to a verified metric. ``policy`` walks the phases, each a room of its own."""
