"""Room 7: label models. Votes to soft labels, one model a file."""
