"""Words in, words out: arguments, files, exit codes, progress."""
