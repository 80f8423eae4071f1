"""`mmscore view`: prints its address, serves it, and ends with Ctrl-C."""

import signal
import subprocess
import sys
import urllib.request

import pytest

from mmscore.cli import program
from support.predictions import choices, write_predictions

pytestmark = pytest.mark.slow


def test_the_address_is_printed_served_and_gone_after_ctrl_c(tmp_path):
    write_predictions(tmp_path / "predictions.parquet", choices(("A", "A")), model="m")
    command = [sys.executable, "-m", "mmscore", "view", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().split()[-1]
            assert b"Runs" in urllib.request.urlopen(url, timeout=30).read()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) in (0, 130)
            assert process.stderr.read() == ""
        finally:
            process.kill()
    assert [file.name for file in tmp_path.iterdir()] == ["predictions.parquet"]


def test_a_folder_that_does_not_exist_is_wrong_usage(tmp_path):
    with pytest.raises(Exception, match="does not exist"):
        program.main(["view", str(tmp_path / "none")], standalone_mode=False)
