"""Room 11: what people see: charts and the HTML report."""
