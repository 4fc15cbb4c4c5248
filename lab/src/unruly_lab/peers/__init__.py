"""The systems that the paper compares with, on the same votes and features, one a file."""
