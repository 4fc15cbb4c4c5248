"""Several systems on one project: fitted, scored, in a table and a picture."""
