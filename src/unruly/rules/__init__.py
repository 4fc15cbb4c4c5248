"""Room 3: rules. Every kind of rule, and the matcher that runs them all."""
