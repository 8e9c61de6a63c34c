"""Plans of several tasks as files: what each decided, and nothing for those of which all follows from the task."""
