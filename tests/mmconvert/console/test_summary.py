"""The last words of a command."""

import subprocess
import sys

from mmconvert.console.summary import close
from support.terminal import on_a_terminal


def test_places_are_aligned_and_cannot_drive_the_terminal(capsys):
    close({"dataset": "d\x1b[31m", "refused": None, "next": "mmscore d"})
    assert capsys.readouterr() == ("  dataset:  d\\x1b[31m\n  next:     mmscore d\n", "")
    close({"report": "r.json"}, err=True)
    assert capsys.readouterr() == ("", "  report:  r.json\n")
    close({"refused": None})
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_table_with_texts_as_they_are(tmp_path, monkeypatch):
    (tmp_path / "say.py").write_text(
        "from mmconvert.console.summary import close\n"
        "close({'dataset': '[bold]d[/bold]', 'next': 'mmscore d'}, err=True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ended = on_a_terminal("say")
    assert (ended.code, ended.out) == (0, "")
    assert "[bold]d[/bold]" in ended.err
    assert "\x1b[1mnext" in ended.err


def test_what_has_no_terminal_loads_no_tables():
    code = "import sys; from mmconvert.console.summary import close; close({'a': 'b'}); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
