"""Room 6: the paper's networks, losses and training loop, each equation in the file of its name."""
