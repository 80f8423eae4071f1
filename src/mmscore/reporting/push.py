"""Publish predictions on the Hub: with their references, their reports and a card."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mmconvert.core.errors import UsageError
from mmconvert.dataset.front_matter import read_front_matter
from mmconvert.dataset.publish import Pushed, UploadOptions, check_target, publish_upload
from mmscore.core.predictions.load import open_rows
from mmscore.core.predictions.locate import STDIN
from mmscore.reporting.model_card import propose_scores, require_card, require_one
from mmscore.reporting.predictions_card import INDEX
from mmscore.reporting.publish import Scored, group_by_file, prepare_predictions
from mmscore.scoring.scored_file import Result


class HubOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where predictions and their numbers go on the Hub, and how."""

    push: str | None = None
    """Publish predictions and numbers on the Hub afterwards."""
    private: bool = False
    """Make the repository private."""
    revision: str | None = None
    """Branch to commit to, made where it is missing."""
    create_pr: bool = False
    """Propose the upload as a pull request."""
    model_card: str | None = None
    """With --push: propose the numbers for a model's card, as a pull request."""
    dry_run: bool = False
    """Check everything and list what would be sent; sends nothing."""

    def upload(self) -> UploadOptions:
        """Say how files are sent."""
        return UploadOptions(
            private=self.private, revision=self.revision, create_pr=self.create_pr, dry_run=self.dry_run
        )

    def check(self, paths: Sequence[str]) -> None:
        """Refuse what cannot be published before anything is asked or scored.

        Args:
            paths: Places of the predictions.

        Raises:
            UsageError: The options have no meaning, or the predictions cannot be read twice.
        """
        if self.push is not None:
            if STDIN in paths:
                raise UsageError("--push: standard input cannot be read twice. Write the predictions to a file first.")
            check_target(self.push, self.upload())
            if self.model_card is not None:
                check_target(self.model_card, UploadOptions(create_pr=True))
        elif self.private or self.revision or self.create_pr or self.model_card:
            raise UsageError("--private, --revision, --create-pr and --model-card go with --push USER/REPO.")


class PushedPredictions(Pushed):
    """What a push of predictions did; `model_card` is the address of the pull request for a model's card."""

    model_card: str | None


def push_results(results: Sequence[Result], options: HubOptions, *, quiet: bool) -> PushedPredictions:
    """Push what was scored.

    Args:
        results: One a file and recipe.
        options: Where to.
        quiet: Nothing on standard error.

    Raises:
        UsageError: Two files are of the same model and benchmark, or a model's card would get several models'.
        Error: The Hub refuses.
    """
    return _push(group_by_file(results), options, quiet=quiet)


def push_unscored(output: str, options: HubOptions, *, quiet: bool) -> PushedPredictions:
    """Push a predictions file that nobody has scored yet; see `push_results`."""
    return _push([(open_rows(output), ())], options, quiet=quiet)


def _push(files: Scored, options: HubOptions, *, quiet: bool) -> PushedPredictions:
    repo_id = str(options.push)
    with tempfile.TemporaryDirectory(prefix="mmscore-") as folder:
        upload = prepare_predictions(files, repo_id, Path(folder))
        index = read_front_matter((Path(folder) / "README.md").read_text(encoding="utf-8"))[INDEX]
        if options.model_card is not None:
            require_one(options.model_card, index)
            if not options.dry_run:
                require_card(options.model_card)
        done = publish_upload(upload, repo_id, options.upload(), quiet=quiet)
    proposes = options.model_card is not None and not options.dry_run
    return {**done, "model_card": propose_scores(str(options.model_card), index) if proposes else None}
