"""The server: a saved model behind HTTP, with batching across requests, limits and metrics."""
