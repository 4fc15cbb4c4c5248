"""The default: votes and text to posteriors."""
