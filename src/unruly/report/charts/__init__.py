"""The pictures of the report, one in each file: numbers in, a `Chart` out."""
