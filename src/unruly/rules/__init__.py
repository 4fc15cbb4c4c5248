"""Room 3: rules. Every kind of rule, and the matcher that turns rules and texts into votes."""
