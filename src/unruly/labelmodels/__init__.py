"""Label models: votes to soft labels, one family of models a file. No model sees a text or a true label."""
