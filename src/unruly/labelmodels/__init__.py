"""Label models: votes to soft labels, one model a file. No model sees a text or a true label."""
