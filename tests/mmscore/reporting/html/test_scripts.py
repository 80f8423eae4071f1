"""No script of a page makes markup of a text, evaluates one, or asks for anything but the live view's own server."""

import re
from pathlib import Path

import pytest

import mmscore.reporting

SCRIPTS = sorted(Path(mmscore.reporting.__file__).parent.glob("*/*.js"))
LONGEST = 600


def test_the_scripts_are_found():
    assert {"summary.js", "details.js", "live.js"} <= {script.name for script in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_puts_texts_in_place_as_texts(script):
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|import\(", text)
    assert not re.search(r"https?://", text)
    assert ("fetch(" in text) == (script.name == "live.js")
    assert len(text.splitlines()) <= LONGEST
