"""Plans of counts in very many boxes: how each attribute is measured, and with how much noise."""
