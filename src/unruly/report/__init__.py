"""Room 12: what people see: charts and the HTML report."""
