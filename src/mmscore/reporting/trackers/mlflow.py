"""MLflow: a run with its metrics and parameters; table and report are its artifacts.

Where it logs to is for the library's own variables to say: MLFLOW_TRACKING_URI ...
"""

import re

from mmconvert.core.text.csv_injection import write_safe_csv
from mmscore.reporting.tracker import TrackedScore, Tracker

_NO_NAME = re.compile(r"[^\w\-. :/]")
"""What MLflow takes in no name of a metric or parameter: mlflow@3.17.2 utils/validation.py."""
_LONGEST = 6000
"""Characters of a parameter's value, ibid."""


def _log(score: TrackedScore) -> str:
    import mlflow

    mlflow.set_experiment(score.project)
    with mlflow.start_run(run_name=score.name) as run:
        mlflow.log_params({_NO_NAME.sub("-", name): str(value)[:_LONGEST] for name, value in score.config.items()})
        mlflow.log_metrics({_NO_NAME.sub("-", name): value for name, value in score.scores.items()})
        mlflow.log_text(write_safe_csv([score.columns, *score.table]), "scores.csv")
        mlflow.log_text(score.report, "report.json")
    return f"experiment {score.project}, run {run.info.run_id} in {mlflow.get_tracking_uri()}"


TRACKER = Tracker("mlflow", "mlflow", _log)
