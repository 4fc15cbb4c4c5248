"""Room 2: votes. The vote matrix, its summary, and the formats it comes and goes in."""
