"""Know, clean and mix datasets: statistics, duplicates, overlap with benchmarks, filters, mixtures, splits."""
