"""The studio: a local web page to write rules, watch them work, label, train and export."""
