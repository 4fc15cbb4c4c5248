"""Room 7: the paper's networks, losses and training loop."""
