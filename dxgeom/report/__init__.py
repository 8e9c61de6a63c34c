"""Pictures of what a plan does."""
