"""A file that is written has the digest of its bytes, and says when it is not whole."""

import hashlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert import hashed_file
from mmconvert.hashed_file import HashedFile


@given(pieces=st.lists(st.binary(max_size=300), max_size=8), every=st.integers(1, 3))
def test_the_digest_is_that_of_the_file(
    pieces: list[bytes], every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("d") / "f"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_file, "_BUFFER", 100)
        file = HashedFile(path)
        for number, piece in enumerate(pieces):
            file.stream.write(piece)
            if number % every == 0:
                file.sync_later()
        digest = file.finish()
    assert path.read_bytes() == b"".join(pieces)
    assert digest == hashlib.sha256(b"".join(pieces)).hexdigest()
    assert file.closed


def test_what_a_write_met_is_raised_and_not_hashed_away(tmp_path: Path) -> None:
    code = """
import pathlib, sys
from mmconvert.hashed_file import HashedFile
file = HashedFile(pathlib.Path(sys.argv[1]))
file.stream.write(bytes(3_000_000))
for step in (file.sync_later, file.finish):
    try:
        step()
    except OSError as error:
        print(error.errno)
"""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))

    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code, str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, env=environment)
    assert done.stdout.split() == ["27", "27"], done.stderr
