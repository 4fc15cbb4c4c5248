"""Many machines: votes, predictions, features and fits on a Ray cluster, Parquet in and Parquet out."""
