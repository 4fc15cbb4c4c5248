"""Every system on public data sets: one file for each experiment, its data, its table and its picture."""
