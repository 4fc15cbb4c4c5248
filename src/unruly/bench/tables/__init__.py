"""The tables of the benchmark, one in each file: outcomes in, Markdown out, the paper's figures beside ours."""
