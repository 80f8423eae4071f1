"""The openai backend against a real service: `transformers serve` on loopback, with a trained tiny model."""

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error
from mmconvert.core.record import Part, Turn
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.infer.backend import Generation, ModelOptions, Service
from mmscore.infer.backends.openai import BACKEND
from mmscore.infer.options import PredictOptions
from mmscore.infer.session import predict
from support.chat_server import find_closed_port
from support.questions import colour_records, make_image, record

pytestmark = pytest.mark.release

SHORT = Generation(max_new_tokens=12)
SECONDS_TO_START = 60


@pytest.fixture(scope="module")
def served(trained_llava: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that serves the trained model, and nothing else."""
    for package in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason="needs transformers[serving]")
    home = tmp_path_factory.mktemp("serve")
    # Without the folder the service cannot list its models.
    (home / "hub").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(trained_llava)]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options], stdout=log, stderr=log, env=environment)
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not _listens(port):
            assert process.poll() is None, (home / "log").read_text()
            assert time.monotonic() < end, "the service does not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def asked(url: str, model: Path, records, generation: Generation = SHORT, **service: object):
    return BACKEND(ModelOptions(str(model), generation, Service(base_url=(url,), **service))).answer(records)


def test_the_trained_model_answers_all_it_was_taught(served, trained_llava):
    answers = asked(served, trained_llava, colour_records())
    assert [answer.text for answer in answers] == [r.answer for r in colour_records()]
    assert {(answer.status, answer.finish_reason) for answer in answers} == {("ok", "stop")}


def test_a_run_starts_it_and_ends_it(trained_llava, tmp_path):
    for package in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason="needs transformers[serving]")
    (tmp_path / "home" / "hub").mkdir(parents=True)
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write(colour_records())
    port = find_closed_port()
    program = str(Path(sys.executable).with_name("transformers"))
    offline = ["env", f"HF_HOME={tmp_path / 'home'}", "HF_HUB_OFFLINE=1"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    serve = shlex.join([*offline, program, "serve", "{model}", *options])
    given = PredictOptions(model=str(trained_llava), serve=serve, max_new_tokens=12)
    predict(tmp_path / "d", tmp_path / "out.parquet", given, quiet=True)
    found = pq.read_table(tmp_path / "out.parquet")["prediction"].to_pylist()
    assert found == [r.answer for r in colour_records()]
    assert not _listens(port)


def test_the_service_and_the_model_itself_answer_alike(served, trained_llava):
    from mmscore.infer.backends.transformers import BACKEND as TRANSFORMERS

    red, blue = make_image("red"), make_image("blue")
    history = replace(
        record(0, red),
        messages=(
            Turn("system", (Part("text", "Be brief."),)),
            Turn("user", (Part("image"), Part("text", "colour?"))),
            Turn("assistant", (Part("text", "red"),)),
            Turn("user", (Part("text", "and now?"),)),
        ),
    )
    rows = [history, record(1, red, "or", blue, "?"), record(2, "text alone"), *colour_records()]
    own = TRANSFORMERS(ModelOptions(str(trained_llava), SHORT, dtype="float32", quiet=True)).answer(rows)
    assert asked(served, trained_llava, rows) == own


def test_a_service_that_gives_one_reply_a_request_is_asked_for_each(served, trained_llava):
    row = colour_records()[1]
    replies = [row, *(replace(row, variant=number) for number in (1, 2))]
    options = ModelOptions(
        str(trained_llava), Generation(12, temperature=0.1, seed=1), Service(base_url=(served,)), n=3
    )
    assert [answer.text for answer in BACKEND(options).answer(replies)] == ["red"] * 3


def test_a_reply_that_is_cut_says_so(served, trained_llava):
    (answer,) = asked(served, trained_llava, [colour_records()[10]], Generation(max_new_tokens=3))
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == ("yel", "length", 3)


def test_a_field_that_the_service_does_not_know_ends_the_run_in_its_own_words(served, trained_llava):
    with pytest.raises(Error, match=r"422 Unexpected fields in the request: \{'top_k'\}"):
        asked(served, trained_llava, colour_records(), extra_body='{"top_k": 5}')


def test_a_model_that_is_not_served_ends_the_run(served, trained_llava):
    with pytest.raises(Error, match="Server is pinned to"):
        asked(served, trained_llava.parent / "another", colour_records())
