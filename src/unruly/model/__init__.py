"""Room 9: the estimator: fit, predict, explain, save and load."""
