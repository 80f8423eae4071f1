"""One of several processes that answer: what it tells the first one before it begins."""

from pathlib import Path

import pyarrow.parquet as pq

from mmscore.infer.backend import KnownBackend
from mmscore.infer.multiprocess import _predict_share
from mmscore.infer.options import PredictOptions
from support.chat_server import chat_server, said
from support.datasets_on_disk import record, write_dataset


def share(folder: Path, options: PredictOptions) -> KnownBackend:
    dataset, output, told = write_dataset(folder / "set", {"test": map(record, range(3))}), folder / "p.parquet", []
    summary = _predict_share(dataset, output, options, 0, told.append, quiet=True, task=None)
    assert (summary.rows, summary.asked) == (3, 3)
    assert pq.read_table(output)["prediction"].to_pylist() == ["A"] * 3
    (backend,) = told
    return backend


def test_a_backend_is_told_of_by_what_its_answers_hang_on(tmp_path: Path) -> None:
    backend = share(tmp_path, PredictOptions(backend="echo", model="text=A"))
    assert (backend.name, backend.prompt_only) == ("text=A", False)


def test_a_backend_that_reads_the_prompt_alone_is_told_of_as_such(tmp_path: Path) -> None:
    with chat_server(lambda request: said("A")) as server:
        backend = share(tmp_path, PredictOptions(model="loopback", base_url=(server.url,)))
    assert (backend.name, backend.prompt_only) == ("loopback", True)
