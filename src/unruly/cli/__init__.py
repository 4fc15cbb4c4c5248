"""Room 13: the command line, thin over the library."""
