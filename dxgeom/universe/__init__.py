"""Record types, the encoding of rows, and linear queries over them."""
