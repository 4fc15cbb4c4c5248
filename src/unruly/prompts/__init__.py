"""Language models as sources: the endpoint, the budget, the answers on disk, and the run that asks."""
