"""The benchmark: every system on every data set, and the paper's tables and figures made anew."""
