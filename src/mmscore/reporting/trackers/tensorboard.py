"""TensorBoard: a folder of event files a run, with its scores, and what it depends on and the table as texts."""

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from mmconvert.dataset.card_sections import escape_markdown
from mmscore.reporting.tracker import TrackedScore, Tracker

ROOT = "TENSORBOARD_LOGGING_DIR"
"""Variable that names the folder of all runs, as transformers calls it."""
_NO_NAME = re.compile(r"[^\w.@-]+")


def _log(score: TrackedScore) -> str:
    from tensorboardX import SummaryWriter

    # Values of a second run in the same folder would join those of the first.
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = [_NO_NAME.sub("-", score.project), f"{_NO_NAME.sub('-', score.name)}_{stamp}"]
    folder = Path(os.environ.get(ROOT, "tensorboard"), *names)
    with SummaryWriter(str(folder)) as writer:
        for name, value in score.scores.items():
            writer.add_scalar(name, value, 0)
        writer.add_text("config", _format_table([("name", "value"), *score.config.items()]), 0)
        writer.add_text("scores", _format_table([score.columns, *score.table]), 0)
    return str(folder)


def _format_table(rows: Sequence[Sequence[object]]) -> str:
    """Write a table as Markdown, which TensorBoard shows; its first row is the heading."""
    heading, *others = [["" if cell is None else escape_markdown(str(cell)) for cell in row] for row in rows]
    lines = [heading, ["---"] * len(heading), *others]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


TRACKER = Tracker("tensorboard", "tensorboardX", _log)
