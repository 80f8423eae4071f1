"""Where bytes lie: local disk, object stores, the Hub, http; atomic writes, locks and leases."""
