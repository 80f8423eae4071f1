"""Times and counts that pages state are those of the code; `test_policy_pages` looks at the page on bad input."""

import re
from pathlib import Path

import pytest

from mmconvert.core.retries import RetryPolicy
from mmconvert.images import video
from mmconvert.storage import leases
from mmscore.llm import client, servers

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
ASKED = {field: client.Endpoint.__dataclass_fields__[field].default for field in ("tries", "silence_seconds")}


def find_number(file: str, name: str) -> int:
    """Read a constant from a file that is no Python, or takes seconds to import."""
    return int(re.search(rf"\b{name} = (\d+)", (ROOT / "src" / file).read_text(encoding="utf-8"))[1])


DEATHS = find_number("mmconvert/pipeline/engines/ray.py", "_TRIES_AFTER_A_DEATH")
LOOKS_MS = find_number("mmscore/reporting/live/live.js", "PAUSE")
PAUSES = (servers._FIRST_PAUSE, servers._LONGEST_PAUSE)

STATED = [
    ("storage", f"as dead if it has not touched its file for {leases.SILENCE:.0f} seconds"),
    ("scale", f"at once on the same machine, after {leases.SILENCE:.0f} seconds on others"),
    ("scale", f"its part is converted again, up to {DEATHS} times"),
    ("formats", f"`video.timeout` (its frames take more than {video.SECONDS} seconds)"),
    ("predict", f"one that fails {servers._FAILURES} requests with no response in between"),
    ("predict", f"one sample again after {PAUSES[0]:.0f} second, then after 2, 4 ... {PAUSES[1]:.0f} seconds"),
    ("predict", f"These are retried, up to {ASKED['tries']} times"),
    ("predict", f"for `--timeout` seconds (default {ASKED['silence_seconds']:.0f})"),
    ("faq", f"`--timeout` (default {ASKED['silence_seconds']:.0f} seconds)"),
    ("eight-gpus", f"`--timeout` (default {ASKED['silence_seconds']:.0f} seconds)"),
    ("predict", f"a requested wait of over {RetryPolicy(1, 0.0).longest_pause / 60:.0f} minutes"),
    ("predict", f"or {client._SAME_CAUSE} failures of one cause with no response in between"),
    ("live-view", f"refreshes itself every {LOOKS_MS / 1000:.0f} seconds"),
]


@pytest.mark.parametrize(("page", "sentence"), STATED)
def test_what_a_page_states_is_what_the_code_does(page: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / f"docs/{page}.md").read_text(encoding="utf-8").split())
