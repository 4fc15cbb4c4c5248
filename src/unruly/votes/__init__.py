"""Votes: the matrix, its summary, and the formats it comes and goes in."""
