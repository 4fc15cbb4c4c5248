"""Room 11: the benchmark. Every system on public data sets, in tables and pictures, beside the paper."""
