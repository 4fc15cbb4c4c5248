"""The pictures of the benchmark, one in each file: outcomes in, an SVG out."""
