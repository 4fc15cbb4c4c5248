"""The report: charts and one HTML page."""
