"""What several runs of a task share, made when the first of them wants it: a dataset of ours, a loaded model."""

from pathlib import Path

from msgspec.structs import asdict, replace

from mmconvert._version import __version__
from mmconvert.core.errors import Error
from mmconvert.core.progress import print_message
from mmconvert.dataset.dataset import Dataset, open_dataset
from mmconvert.pipeline.convert_files import convert_files
from mmconvert.plugins.arguments import parse_spec
from mmscore.infer.backend import Backend, identify_file
from mmscore.infer.session import open_where_asked
from mmscore.llm.response_cache import build_answer_key
from mmscore.workflow.task_file import DatasetTask, ModelTask


class PreparedDataset:
    """A dataset of ours, converted when it is first wanted; what went wrong then goes wrong for every model.

    Args:
        task: The dataset.
        folder: Where it goes if it is converted.
        quiet: No progress and no count of rows.

    Attributes:
        task: The dataset.
        rejected: Rows of it were refused; known after `rows`.
    """

    def __init__(self, task: DatasetTask, folder: Path, quiet: bool) -> None:
        self.rejected = False
        self.task = task
        self._folder = folder
        self._quiet = quiet
        self._made: Dataset | Error | None = None

    def rows(self) -> Dataset:
        """Give the dataset that is asked about.

        Raises:
            Error: It cannot be converted or read.
        """
        if self._made is None:
            try:
                self._made = self._convert()
            except Error as error:
                self._made = error
        if isinstance(self._made, Error):
            raise self._made
        return self._made

    def _convert(self) -> Dataset:
        if self.task.conversion is None:
            return open_dataset(self.task.input)
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        options = replace(self.task.conversion, overwrite=True)
        summary = convert_files([self.task.input], str(self._folder), options, quiet=self._quiet)
        self.rejected = summary.rows_rejected > 0 and not options.allow_rejects
        if not self._quiet:
            refused = f", {summary.rows_rejected:,} refused, reasons in {summary.rejects}" if summary.rejects else ""
            said = [f"{summary.rows_written:,} rows converted{refused}", *summary.warnings]
            print_message("\n".join(f"{self.task.name}: {line}" for line in said))
        return open_dataset(self._folder)


class LazyModel:
    """A model that is loaded when the first row is to be asked, once for all datasets.

    Args:
        task: The model.
        quiet: No progress bars while loading.

    Attributes:
        task: The model.
    """

    def __init__(self, task: ModelTask, quiet: bool) -> None:
        self.task = task
        self._quiet = quiet
        self._made: Backend | Error | None = None

    def open_backend(self) -> Backend:
        """Give who answers.

        Raises:
            Error: The model cannot be loaded.
        """
        if self._made is None:
            try:
                self._made = open_where_asked(self.task.options, quiet=self._quiet)
            except Error as error:
                self._made = error
        if isinstance(self._made, Error):
            raise self._made
        return self._made

    def digest(self, rows: Dataset, limit: int | None) -> str:
        """Digest what the predictions depend on, as far as it can be told without loading the model."""
        options = self.task.options
        given = {name: str(value) for name, value in asdict(options).items() if name not in ("processes", "engine")}
        folder = Path(options.model)
        files = sorted(folder.rglob("*")) if folder.is_dir() else []
        weights = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
        plugins = [options.plugin, *([] if options.protocol is None else [parse_spec(options.protocol)[0]])]
        return build_answer_key(given, *map(identify_file, plugins), weights, rows.fingerprint, limit, __version__)
