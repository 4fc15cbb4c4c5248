"""The two commands that the laboratory adds to `unruly`: compare and bench."""
