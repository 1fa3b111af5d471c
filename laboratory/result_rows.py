"""Rows of results: dictionaries of labels (system, data, seed, ...) and measured columns."""

import math
import statistics


def select_rows(rows, **labels):
    """The rows that have all of these labels."""
    return [row for row in rows if all(row.get(key) == value for key, value in labels.items())]


def finite_values(rows, key, **labels):
    """All finite values of a column."""
    column = (row.get(key) for row in select_rows(rows, **labels))
    return [value for value in column if value is not None and math.isfinite(value)]


def mean(rows, key, **labels):
    """Mean of a column; None where it has no value."""
    column = finite_values(rows, key, **labels)
    return statistics.fmean(column) if column else None


def deviation(rows, key, **labels):
    """Standard deviation of a column; None where it has fewer than two values."""
    column = finite_values(rows, key, **labels)
    return statistics.stdev(column) if len(column) > 1 else None


def distinct_labels(rows, *keys):
    """All combinations of the labels, in the order in which they appear."""
    return list(dict.fromkeys(tuple(row.get(key) for key in keys) for row in rows))


def final_rows(rows):
    """Rows of the end of learning, without those of evaluations on the way."""
    return [row for row in rows if row.get("end", True)]
