"""Trackio: a run with its scores, a table, and the report as an artifact.

Where it logs to is for the library's own variables to say: TRACKIO_DIR, TRACKIO_SPACE_ID, TRACKIO_SERVER_URL ...
"""

import tempfile
from pathlib import Path

from mmconvert.storage.temporary import build_temporary_prefix
from mmscore.reporting.tracker import TrackedScore, Tracker


def _log(score: TrackedScore) -> str:
    import trackio
    from pandas import DataFrame

    trackio.init(
        project=score.project,
        name=score.name,
        config=dict(score.config),
        embed=False,
        auto_log_gpu=False,
        auto_log_cpu=False,
    )
    try:
        table = DataFrame([list(row) for row in score.table], columns=list(score.columns))
        # One step for both: a second would leave the scores of the first out of its plots.
        trackio.log({**score.scores, "scores": trackio.Table(dataframe=table)}, step=0)
        with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
            file = Path(folder, "report.json")
            file.write_text(score.report, encoding="utf-8")
            trackio.log_artifact(file, name="report", type="report")
    finally:
        trackio.finish()
    return f"project {score.project}, run {score.name}"


TRACKER = Tracker("trackio", "trackio", _log)
