"""Weights & Biases: a run with its summary, a table, and the report as an artifact.

Where it logs to is for the library's own variables to say: WANDB_MODE=offline, WANDB_BASE_URL, WANDB_DIR ...
"""

import re

from mmscore.reporting.tracker import TrackedScore, Tracker

_NO_NAME = re.compile(r"[^\w.-]+", re.ASCII)


def _log(score: TrackedScore) -> str:
    import wandb

    settings = wandb.Settings(silent=True, console="off", disable_git=True)
    run = wandb.init(
        project=score.project, name=score.name, job_type="evaluation", config=dict(score.config), settings=settings
    )
    with run:
        table = wandb.Table(
            columns=list(score.columns), data=[list(row) for row in score.table], allow_mixed_types=True
        )
        run.log({**score.scores, "scores": table})
        # Names of artifacts have letters, digits and -_. only, 128 of them.
        report = wandb.Artifact(_NO_NAME.sub("-", score.name)[:100], type="report")
        with report.new_file("report.json", encoding="utf-8") as file:
            file.write(score.report)
        run.log_artifact(report)
        return str(run.url or run.dir)


TRACKER = Tracker("wandb", "wandb", _log)
