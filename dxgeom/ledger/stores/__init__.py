"""Where ledgers are kept: what a store must do, and the stores that do it."""
