"""`--push` of `mmscore score` and `predict`: predictions and their reports to a dataset on the Hub."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from mmconvert.cli.push import check_push, place_options, published_text, send
from mmconvert.core.errors import UsageError
from mmconvert.core.text.printable import printable
from mmconvert.dataset.front_matter import front_matter
from mmscore.core.predictions.load import open_rows
from mmscore.core.predictions.locate import STDIN
from mmscore.scoring.scored_file import Result

_F = TypeVar("_F", bound=Callable[..., Any])


def push_predictions_options(command: _F) -> _F:
    """Give a command `push` and the options that go with it but `dry_run`."""
    pushed = click.option("--push", metavar="USER/REPO", help="Publish predictions and numbers on the Hub afterwards.")
    return pushed(place_options(command))


class Pushing(msgspec.Struct, frozen=True):
    """Where predictions go, checked before anything is asked or scored; `repo_id` is None for nowhere."""

    repo_id: str | None
    private: bool
    revision: str | None
    create_pr: bool
    dry_run: bool
    model_card: str | None = None

    @classmethod
    def checked(cls, given: dict[str, Any], paths: Sequence[str], *, dry_run: bool) -> "Pushing":
        """Take the options of the command out of `given`.

        Raises:
            UsageError: The options have no meaning, or the predictions cannot be read twice.
        """
        wishes = {name: given.pop(name) for name in ("private", "revision", "create_pr")}
        place = cls(given.pop("push"), **wishes, dry_run=dry_run, model_card=given.pop("model_card", None))
        if place.repo_id is not None:
            if STDIN in paths:
                raise UsageError("--push: standard input cannot be read twice. Write the predictions to a file first.")
            check_push(place.repo_id, revision=place.revision, create_pr=place.create_pr)
            if place.model_card is not None:
                check_push(place.model_card, revision=None, create_pr=True)
        elif place.private or place.revision or place.create_pr or place.model_card:
            raise UsageError("--private, --revision, --create-pr and --model-card go with --push USER/REPO.")
        return place

    def scored(self, results: Sequence[Result], *, quiet: bool) -> dict[str, Any]:
        """Push what was scored.

        Returns:
            As `mmconvert.cli.push.publish`; `model_card` is the address of the pull request for a model's card.

        Raises:
            UsageError: Two files are of the same model and benchmark, or a model's card would get several models'.
            Error: The Hub refuses.
        """
        # Imported here and below: who does not push need not wait for the Hub's client.
        from mmscore.reporting.publish import by_file

        return self._sent(by_file(results), quiet=quiet)

    def predicted(self, output: str, *, quiet: bool) -> dict[str, Any]:
        """Push a predictions file that nobody has scored yet; see `scored`."""
        return self._sent([(open_rows(output), ())], quiet=quiet)

    def _sent(self, files: Any, *, quiet: bool) -> dict[str, Any]:
        from mmscore.reporting.model_card import propose, require_card, require_one
        from mmscore.reporting.predictions_card import INDEX
        from mmscore.reporting.publish import prepare_predictions

        wishes: dict[str, Any] = {"private": self.private, "revision": self.revision, "create_pr": self.create_pr}
        repo_id = str(self.repo_id)
        with tempfile.TemporaryDirectory(prefix="mmscore-") as folder:
            upload = prepare_predictions(files, repo_id, Path(folder))
            index = front_matter((Path(folder) / "README.md").read_text(encoding="utf-8"))[INDEX]
            if self.model_card is not None:
                require_one(self.model_card, index)
                if not self.dry_run:
                    require_card(self.model_card)
            done = send(upload, repo_id, quiet=quiet, dry_run=self.dry_run, **wishes)
        proposes = self.model_card is not None and not self.dry_run
        return {**done, "model_card": propose(str(self.model_card), index) if proposes else None}


def pushed_text(done: dict[str, Any]) -> str:
    """Say in a few lines what was pushed."""
    proposed = [f"{done['model_card']}: numbers proposed for the model's card"] if done["model_card"] else []
    return printable("\n".join([published_text(done), *proposed]))
