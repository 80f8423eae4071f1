"""Names of metrics on a page: those of their keys in the JSON report, or more telling ones."""

METRIC_NAMES = {
    "accuracy_if_unparsed_dropped": "accuracy (parsed only)",
    "accuracy_if_unparsed_guessed": "accuracy (random guess for unparsed)",
}


def name_metric(key: str) -> str:
    """Give the name under which a page shows a metric.

    Example:
        >>> name_metric("exact_match"), name_metric("accuracy_if_unparsed_dropped")
        ('exact match', 'accuracy (parsed only)')
    """
    return METRIC_NAMES.get(key, key.replace("_", " "))
