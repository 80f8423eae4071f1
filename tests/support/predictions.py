"""Predictions files made on the spot."""

import pyarrow as pa
import pyarrow.parquet as pq


def write_predictions(path, rows, **columns):
    """Write rows as parquet with the columns that they name; `columns` gives a column one value for all."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    for name, value in columns.items():
        table = table.append_column(name, pa.array([value] * len(rows)))
    pq.write_table(table, path)
    return path


def choices(*letters_and_answers, **more):
    """Make multiple-choice rows from (prediction, answer) pairs."""
    return [
        {
            "id": str(n),
            "task": "multiple_choice",
            "options": ["red", "green", "blue"],
            "prediction": p,
            "answer": a,
            **more,
        }
        for n, (p, a) in enumerate(letters_and_answers)
    ]
