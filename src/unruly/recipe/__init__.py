"""Room 8: the default recipe, which needs no gold labels, and its guard."""
