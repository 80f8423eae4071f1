"""`--push` of `mmscore score` and `predict`: predictions and their reports to a dataset on the Hub."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from mmconvert.console.options import struct_options
from mmconvert.console.published import published_text
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import printable
from mmconvert.dataset.front_matter import front_matter
from mmconvert.dataset.publish import Pushed, UploadOptions, check_target, publish_upload
from mmscore.core.predictions.load import open_rows
from mmscore.core.predictions.locate import STDIN
from mmscore.scoring.scored_file import Result

_F = TypeVar("_F", bound=Callable[..., Any])


def push_predictions_options(command: _F) -> _F:
    """Give a command `push` and the options that go with it but `dry_run`, which it gets in `upload`."""
    pushed = click.option("--push", metavar="USER/REPO", help="Publish predictions and numbers on the Hub afterwards.")
    place = struct_options(UploadOptions, {"revision": {"metavar": "REV"}}, into="upload", without=["dry_run"])
    made: _F = pushed(place(command))
    return made


class PushedPredictions(Pushed):
    """What a push of predictions did; `model_card` is the address of the pull request for a model's card."""

    model_card: str | None


class Pushing(msgspec.Struct, frozen=True):
    """Where predictions go, checked before anything is asked or scored; `repo_id` is None for nowhere."""

    repo_id: str | None
    upload: UploadOptions
    model_card: str | None = None

    @classmethod
    def checked(cls, given: dict[str, Any], paths: Sequence[str], *, dry_run: bool) -> "Pushing":
        """Take the options of the command out of `given`.

        Raises:
            UsageError: The options have no meaning, or the predictions cannot be read twice.
        """
        upload = msgspec.structs.replace(given.pop("upload"), dry_run=dry_run)
        place = cls(given.pop("push"), upload, given.pop("model_card", None))
        if place.repo_id is not None:
            if STDIN in paths:
                raise UsageError("--push: standard input cannot be read twice. Write the predictions to a file first.")
            check_target(place.repo_id, upload)
            if place.model_card is not None:
                check_target(place.model_card, UploadOptions(create_pr=True))
        elif upload.private or upload.revision or upload.create_pr or place.model_card:
            raise UsageError("--private, --revision, --create-pr and --model-card go with --push USER/REPO.")
        return place

    def scored(self, results: Sequence[Result], *, quiet: bool) -> PushedPredictions:
        """Push what was scored.

        Raises:
            UsageError: Two files are of the same model and benchmark, or a model's card would get several models'.
            Error: The Hub refuses.
        """
        # Imported here and below: who does not push need not wait for the Hub's client.
        from mmscore.reporting.publish import group_by_file

        return self._sent(group_by_file(results), quiet=quiet)

    def predicted(self, output: str, *, quiet: bool) -> PushedPredictions:
        """Push a predictions file that nobody has scored yet; see `scored`."""
        return self._sent([(open_rows(output), ())], quiet=quiet)

    def _sent(self, files: Any, *, quiet: bool) -> PushedPredictions:
        from mmscore.reporting.model_card import propose_scores, require_card, require_one
        from mmscore.reporting.predictions_card import INDEX
        from mmscore.reporting.publish import prepare_predictions

        repo_id = str(self.repo_id)
        with tempfile.TemporaryDirectory(prefix="mmscore-") as folder:
            upload = prepare_predictions(files, repo_id, Path(folder))
            index = front_matter((Path(folder) / "README.md").read_text(encoding="utf-8"))[INDEX]
            if self.model_card is not None:
                require_one(self.model_card, index)
                if not self.upload.dry_run:
                    require_card(self.model_card)
            done = publish_upload(upload, repo_id, self.upload, quiet=quiet)
        proposes = self.model_card is not None and not self.upload.dry_run
        return {**done, "model_card": propose_scores(str(self.model_card), index) if proposes else None}


def pushed_text(done: PushedPredictions) -> str:
    """Say in a few lines what was pushed."""
    proposed = [f"{done['model_card']}: numbers proposed for the model's card"] if done["model_card"] else []
    return printable("\n".join([published_text(done), *proposed]))
