"""Room 10: every system that the paper compares with, on the same votes and features, one a file."""
