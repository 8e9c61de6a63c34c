"""What was answered: the numbers, their error bars, and what follows from both without reading data again."""
