"""One self-contained HTML page that shows items: a table with search and filters, each item opening to its messages."""
