"""Floor 6: readers of the tables. No arithmetic of their own."""
