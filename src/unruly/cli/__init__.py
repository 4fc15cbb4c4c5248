"""Room 12: the command line, thin over the library."""
