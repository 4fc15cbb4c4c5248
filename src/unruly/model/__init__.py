"""The estimator: fit, predict, explain, save and load."""
