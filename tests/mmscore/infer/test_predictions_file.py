"""Row groups end where the rows alone say, and a disk that is full is reported with what the rows take."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.core.errors import Error
from mmscore.infer import predictions_file
from mmscore.infer.predictions_file import PREDICTIONS_SCHEMA, PredictionsFile


def build_rows(count, size=1):
    rows = [dict.fromkeys(PREDICTIONS_SCHEMA.names) for _ in range(count)]
    return pa.RecordBatch.from_pylist([{**row, "prediction": "x" * size} for row in rows], schema=PREDICTIONS_SCHEMA)


def write_rows(path, *batches):
    with PredictionsFile(path, {}) as file:
        for batch in batches:
            file.copy(batch)
    groups = pq.ParquetFile(path).metadata
    return [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]


@pytest.mark.parametrize("sizes", [[50], [7, 43], [1] * 50])
def test_a_row_group_is_full_by_its_rows_or_by_its_bytes_however_they_come(sizes, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions_file, "_BLOCK_ROWS", 10)
    monkeypatch.setattr(predictions_file, "_ROW_GROUP_ROWS", 20)
    assert write_rows(tmp_path / "p.parquet", *map(build_rows, sizes)) == [20, 20, 10]
    monkeypatch.setattr(predictions_file, "_ROW_GROUP_BYTES", 5000)
    assert write_rows(tmp_path / "p.parquet", *(build_rows(size, 600) for size in sizes)) == [10] * 5


def test_what_cannot_be_written_names_the_bytes_of_all_rows_so_far(tmp_path):
    (tmp_path / "p.parquet").mkdir()
    with pytest.raises(Error, match=r"cannot be written .* take up to [\d,]+ bytes") as refused:
        write_rows(tmp_path / "p.parquet", build_rows(10, 10_000), build_rows(10, 10_000))
    assert int(str(refused.value).partition("take up to ")[2].partition(" ")[0].replace(",", "")) >= 200_000
