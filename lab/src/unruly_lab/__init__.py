"""The laboratory of unruly: peers of the paper, comparisons, benchmarks."""
