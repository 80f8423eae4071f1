"""Progress: lines now and then where there is no terminal, nothing when quiet, always on stderr."""

import pytest

from mmscore.infer import progress as module


@pytest.mark.parametrize("quiet", [False, True])
def test_a_log_gets_a_line_now_and_then_and_a_quiet_run_none(monkeypatch, capsys, quiet):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    with module.progress(100, quiet=quiet) as advance:
        for done in range(10, 101, 10):
            advance(done, done // 50)
    captured = capsys.readouterr()
    assert captured.out == ""
    expected = ["30 of 100 rows, 30 s", "60 of 100 rows, 1 failed, 60 s", "90 of 100 rows, 1 failed, 90 s"]
    assert captured.err.splitlines() == ([] if quiet else expected)


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with module.progress(4, quiet=False) as advance:
        advance(3, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "predict" in captured.err
