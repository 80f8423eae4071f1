"""Benchmarks as the framework's classes have them: a table, how a row of it is worded, how answers are scored.

A class of the user's says one or more of `load_data(name)`, `build_prompt(line)` and `evaluate(eval_file,
**judge_kwargs)`. Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py, __init__.py:build_dataset.
"""

import contextlib
import functools
import tempfile
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from mmconvert.benchmarks.catalogue import Url, find_benchmark, is_benchmark
from mmconvert.core.errors import Error, RowError, UsageError, show, suggest_spelling
from mmconvert.core.record import LETTERS
from mmconvert.images.loader import SUFFIXES, ImageLoader
from mmconvert.kits.vlmevalkit.datasets import find_lmudata_root
from mmconvert.kits.vlmevalkit.images import UNNAMED, keep_rows_with_images, list_image_files, list_image_paths
from mmconvert.kits.vlmevalkit.lmu_download import download_table, read_url_name
from mmconvert.prompts.vlmevalkit import WITHOUT_IMAGES, build_messages
from mmconvert.storage.http import open_url
from mmconvert.storage.temporary import build_temporary_prefix
from mmconvert.storage.url_safety import check_allowed_hosts
from mmscore.compat.vlmevalkit.recipes import as_recipe, kit_result
from mmscore.compat.vlmevalkit.smp import decode_base64_to_image_file
from mmscore.compat.vlmevalkit.tables import is_empty, load, md5, toliststr
from mmscore.core.recipe import Recipe
from mmscore.infer.message_model import Message

_CELLS = ("index", "image", "image_path")
_IMAGES = ImageLoader(())
_fetching: ContextVar[tuple[bool, Sequence[str]]] = ContextVar("_fetching", default=(False, ()))
"""Whether tables are fetched, and the hosts that may be at private addresses."""


def prepared(table: Any, skip_noimg: bool) -> tuple[pd.DataFrame, bool]:
    """Follow references between images, read lists, and settle the index.

    Args:
        table: A DataFrame, or what becomes one.
        skip_noimg: Leave out rows whose `image` is empty.

    Returns:
        The table, and whether it has paths and no images.

    Raises:
        Error: There is no index, or a row names an image that is not there.

    Parity: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/image_base.py:ImageBaseDataset.__init__; nothing in a cell
    is evaluated.
    """
    data = table.copy() if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    if "index" not in data:
        raise Error(f"the table has no column 'index'.{suggest_spelling('index', data.columns)} Number its rows.")
    if skip_noimg and "image" in data:
        data = data[~pd.isna(data["image"])].copy()
    rows = keep_rows_with_images(list_cells(data, _CELLS), skip_noimg=skip_noimg)
    for name in _CELLS:
        if name in data:
            cells = [row[name] for row in rows]
            data[name] = cells if name == "index" else pd.Series(cells, index=data.index, dtype=object)
    return data, "image" not in data


def list_cells(data: pd.DataFrame, names: Sequence[str]) -> list[dict[str, Any]]:
    """List the rows of a table with some of its columns, None for empty cells."""
    known = [name for name in names if name in data]
    columns = [[None if is_empty(cell) else cell for cell in data[name]] for name in known]
    return [dict(zip(known, cells, strict=True)) for cells in zip(*columns, strict=True)]


@contextlib.contextmanager
def fetching(allowed: bool, hosts: Sequence[str] = ()) -> Iterator[None]:
    """Let classes of benchmarks fetch tables that are not there, or not; a class of the user's need not know.

    Args:
        allowed: They may, from public hosts.
        hosts: Hosts, `NAME[:PORT]`, that may be at private addresses all the same.

    Raises:
        UsageError: Hosts are named and nothing may be fetched, or one is no host.
    """
    check_allowed_hosts(hosts, allow_remote=allowed)
    token = _fetching.set((allowed, hosts))
    try:
        yield
    finally:
        _fetching.reset(token)


class NoEvaluateError(UsageError, NotImplementedError):
    """A class of benchmarks does not say how it is scored."""


class NoRuleError(UsageError):
    """The framework lists a benchmark and has no rule for its scores."""


class ImageBaseDataset:
    """A benchmark: its table, and what is done with it.

    Attributes:
        MODALITY: What the rows show.
        TYPE: MCQ, VQA, Y/N, Caption or MT.
        DATASET_URL: Address of each benchmark's table; fetched only where that is allowed.
        DATASET_MD5: MD5 of each benchmark's table.
        NAMES: Benchmarks of the framework that this class is for, beside those that have an address.
        allow_remote: Tables that are not there may be fetched.
        allow_host: With allow_remote: hosts, `NAME[:PORT]`, that may be at private addresses.
        dataset_name: The benchmark.
        data: The table, a row a question; `image` holds base64, or a list of it.
        meta_only: The table has paths and no images.
        img_root: Folder for images that become files; made when it is first asked for, gone with the object.
        target_size: Longest side in pixels of images that become files. From 1 on they are encoded as their names in
            the framework end, and as there a file that exists is kept; below 1 their bytes are written as they are.
    """

    MODALITY: ClassVar[str] = "IMAGE"
    TYPE: ClassVar[str] = "VQA"
    DATASET_URL: ClassVar[dict[str, str]] = {}
    DATASET_MD5: ClassVar[dict[str, str]] = {}
    NAMES: ClassVar[Sequence[str]] = ()
    allow_remote = False
    allow_host: Sequence[str] = ()
    target_size = -1

    def __init__(self, dataset: str = "MMBench", skip_noimg: bool = True) -> None:
        """Read the table.

        Args:
            dataset: The benchmark.
            skip_noimg: Leave out rows whose `image` is empty.

        Raises:
            UsageError: The table is not there and may not be fetched.
            Error: It is damaged, or a row names an image that is not there.
        """
        self.dataset_name = dataset
        self.skip_noimg = skip_noimg
        self.data, self.meta_only = prepared(self.load_data(dataset), skip_noimg)
        self.post_build(dataset)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        return dict(self.data.iloc[idx])

    @classmethod
    def supported_datasets(cls) -> list[str]:
        """Name the benchmarks that this class is for."""
        return [*cls.DATASET_URL, *cls.NAMES]

    @classmethod
    def as_recipe(cls) -> Recipe:
        """Make a recipe of `evaluate`, for `mmscore score --recipe file.py@Class`."""
        return as_recipe(cls)

    def load_data(self, dataset: str) -> Any:
        """Read a benchmark's table, as `prepare_tsv` does."""
        url, file_md5 = self.DATASET_URL.get(dataset, ""), self.DATASET_MD5.get(dataset)
        return self.prepare_tsv(*((url, file_md5) if url else find_published_table(dataset)))

    def prepare_tsv(self, url: str, file_md5: str | None = None) -> Any:
        """Read `$LMUData/NAME.tsv`; one that is not there is fetched where that is allowed.

        Args:
            url: https address of the table; "" for none.
            file_md5: What its MD5 must be; None for any.

        Raises:
            UsageError: It is not there, or its MD5 is another, and it may not be fetched.
            Error: What was fetched has another MD5.
        """
        path, problem = find_lmudata_root() / f"{self.dataset_name}.tsv", "is not there"
        # Earlier releases of the framework, and ours, kept the name that the address has.
        for table in (path, find_lmudata_root() / read_url_name(url)):
            if table.is_file():
                found = md5(table) if file_md5 else None
                if found == file_md5:
                    return load(table)
                problem = f"has the MD5 {found}, not {file_md5}" if table == path else problem
        allowed, hosts = _fetching.get()
        if not url or not (self.allow_remote or allowed):
            more = f", or allow {url} to be fetched: --allow-remote, allow_remote = True" if url else ""
            raise UsageError(f"{path}: the table {problem}. Put it there{more}.")
        return load(_fetch_table(self.dataset_name, url, file_md5, (*self.allow_host, *hosts)))

    def post_build(self, dataset: str) -> None:
        """Do what is to be done when the table is read; here nothing is."""

    @property
    def img_root(self) -> str:
        """Give the folder for images that become files."""
        own = self.__dict__.setdefault("_img_root", None) or tempfile.TemporaryDirectory(
            prefix=build_temporary_prefix()
        )
        self.__dict__["_img_root"] = own
        return own if isinstance(own, str) else str(own.name)

    @img_root.setter
    def img_root(self, folder: str) -> None:
        self.__dict__["_img_root"] = folder

    def dump_image(self, line: Any) -> list[str]:
        """Store the images of a row, their bytes untouched unless `target_size` says otherwise, and give their paths.

        Raises:
            RowError: A cell is no image, or a name leaves the folder.
        """
        cells = _list_image_cells(line)
        if "image" not in cells:
            return list_image_paths(cells)
        paths = []
        for place, (name, text) in enumerate(list_image_files(cells) if cells["image"] else ()):
            if "image_path" not in cells and self.target_size < 1:
                # The framework calls them all png, and encodes them so.
                name = f"{name.removesuffix(UNNAMED)}.{SUFFIXES[_IMAGES.of_base64(text, place + 1).format]}"
            path = (Path(self.img_root) / name).resolve()
            if not path.is_relative_to(Path(self.img_root).resolve()):
                raise RowError("image.path", "image_path", f"the name leaves the image root {show(name)}. Rename it.")
            if self.target_size < 1 or not path.exists():
                decode_base64_to_image_file(text, path, self.target_size)
            paths.append(str(path))
        return paths

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, then its question.

        Args:
            line: The row, or its number.
        """
        return self.build_prompt_as(line, "CustomVQADataset")

    def build_prompt_as(self, line: Any, dataset_class: str) -> Message:
        """Word a row as one of the framework's classes does.

        Args:
            line: The row, or its number.
            dataset_class: The framework's class, such as `MTVQADataset`.

        Raises:
            UsageError: The class is unknown.
            RowError: An image is missing, or a number stands where a text must be joined to.
        """
        row = self.data.iloc[line] if isinstance(line, int) else line
        paths = self.dump_image(row) if dataset_class not in WITHOUT_IMAGES else []
        known = ("question", "hint", "answer", *LETTERS)
        cells = {name: None if is_empty(row[name]) else row[name] for name in known if name in row}
        return build_messages(dataset_class, self.dataset_name, cells, paths)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Score a file of predictions; gives a dict or a DataFrame.

        Raises:
            NoEvaluateError: The class does not say how.
        """
        raise NoEvaluateError(
            f"{type(self).__name__} has no evaluate(eval_file, **judge_kwargs). Write it, or ask only and score the "
            "predictions: mmscore PREDICTIONS --recipe own_short_answer."
        )


def _list_image_cells(line: Any) -> dict[str, Any]:
    """Give what a row says about its images; names that do not go with them are left out."""
    found = {name: line[name] for name in ("image", "image_path") if name in line}
    items = {name: [] if is_empty(cell) else toliststr(cell) for name, cell in found.items()}
    if "image" in items and len(items["image"]) != len(items.get("image_path", ())):
        items.pop("image_path", None)
    cells = {name: texts[0] if len(texts) == 1 else texts or None for name, texts in items.items()}
    return {"index": line.get("index"), **cells}


class Benchmark(ImageBaseDataset):
    """A benchmark of the framework, scored by the recipe that gives the framework's own numbers.

    Attributes:
        RECIPE: The recipe where the benchmark's name tells none; "" for none.
        SUBMISSION: Format in which predictions are submitted where the table has no answers; "" for none created by
        mmconvert.
    """

    RECIPE: ClassVar[str] = ""
    SUBMISSION: ClassVar[str] = ""
    NAMES: ClassVar[Sequence[str]] = (
        *("MMVet", "MathVista_MINI", "LLaVABench", "OCRBench", "VSR-zeroshot"),
        *(f"VCR_{t}_{level}_{size}" for t in ("EN", "ZH") for level in ("EASY", "HARD") for size in (500, 100, "ALL")),
    )

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Score a file of predictions; see `mmscore.compat.vlmevalkit.recipes.kit_result`."""
        return kit_result(eval_file, self.dataset_name, judge_kwargs, self.RECIPE)


class ImageMCQDataset(Benchmark):
    """Multiple choice: `A`, `B`, ... hold the options, `answer` a letter."""

    TYPE = "MCQ"
    RECIPE = "vlmevalkit_mcq"
    SUBMISSION = "mmbench"
    NAMES: ClassVar[Sequence[str]] = ()

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, then hint, question and options."""
        return self.build_prompt_as(line, "ImageMCQDataset")


class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice from a table of the user's."""


class MMMUDataset(ImageMCQDataset):
    """Multiple choice whose text says where the images stand."""

    NAMES = ("MMMU_DEV_VAL", "MMMU_TEST")
    SUBMISSION = ""

    def build_prompt(self, line: Any) -> Message:
        """Word a row, an image where `<image 1>` stands."""
        return self.build_prompt_as(line, "MMMUDataset")


class ImageYORNDataset(Benchmark):
    """Questions with yes or no as answer."""

    TYPE = "Y/N"
    RECIPE = "vlmevalkit_yorn"
    NAMES = ("MME", "POPE", "HallusionBench", "AMBER")

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, then its question."""
        return self.build_prompt_as(line, "ImageYORNDataset")


class ImageVQADataset(Benchmark):
    """Open questions that a word or phrase answers."""

    RECIPE = "vlmevalkit_vqa"
    NAMES = (
        *("OCRVQA_TEST", "OCRVQA_TESTCORE", "TextVQA_VAL", "DocVQA_VAL", "DocVQA_TEST", "InfoVQA_VAL", "InfoVQA_TEST"),
        *("ChartQA_TEST", "GQA_TestDev_Balanced"),
    )

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, its question, and the wish for a word or phrase."""
        return self.build_prompt_as(line, "ImageVQADataset")


class ImageCaptionDataset(Benchmark):
    """Images to be described."""

    TYPE = "Caption"
    RECIPE = "vlmevalkit_caption"
    NAMES = ("COCO_VAL",)

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, then its question, or the framework's wish for a description."""
        return self.build_prompt_as(line, "ImageCaptionDataset")


class ImageMTDataset(Benchmark):
    """Dialogs: `question` and `answer` hold a list of turns."""

    TYPE = "MT"
    NAMES = ("MMDU",)

    def build_prompt(self, line: Any) -> Message:
        """Word a conversation: turns of user and assistant in order, `<ImageHere>` showing the images."""
        return self.build_prompt_as(line, "ImageMTDataset")


class ImageShortQADataset(ImageBaseDataset):
    """Open questions with short answers; the framework has a judge read them, in words of its own."""

    def build_prompt(self, line: Any) -> Message:
        """Word a row: its images, its question, and the wish for a short answer."""
        return self.build_prompt_as(line, "ImageShortQADataset")


class UnscoredDataset(ImageBaseDataset):
    """Benchmarks of the framework's list that it asks about and has no rule for."""

    NAMES = ("CORE_MM",)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> Any:
        """Say that there are no scores.

        Raises:
            NoRuleError: Always.
        """
        raise NoRuleError(
            f"{self.dataset_name}: no rule exists, VLMEvalKit never had one. The predictions are written. To have them "
            f"judged: mmscore {Path(eval_file).with_suffix('.parquet')} --recipe evalscope_general_vqa "
            "--judge evalscope_numeric --judge-strategy llm"
        )


class CustomVQADataset(ImageBaseDataset):
    """Open questions from a table of the user's, who says how they are scored."""


def whole(given: Any) -> Any:
    """Give a class of benchmarks what it does not say itself.

    Returns:
        The class itself where it inherits from ours, or has a constructor of its own.
    """
    if issubclass(given, ImageBaseDataset) or "__init__" in vars(given):
        return given
    return type(given.__name__, (given, ImageBaseDataset), {"__module__": given.__module__})


def build_dataset(
    dataset_name: str, *, allow_remote: bool = False, allow_host: Sequence[str] = (), **kwargs: Any
) -> ImageBaseDataset | None:
    """Open a benchmark: by the class that names it, the user's before ours, else by the columns of its table.

    Args:
        dataset_name: The benchmark.
        allow_remote: A table that is not there may be fetched.
        allow_host: With allow_remote: hosts, `NAME[:PORT]`, that may be at private addresses.
        **kwargs: Arguments of the class.

    Returns:
        The benchmark; None where no class names it, `$LMUData/NAME.tsv` does not exist, and it is none of the
        framework's whose table may be fetched.

    Raises:
        UsageError: Its table is not there and may not be fetched.
    """
    with fetching(allow_remote, allow_host):
        allowed, hosts = _fetching.get()
        made = find_dataset_class(dataset_name)
        if made is None and allowed and (table := find_published_table(dataset_name))[0]:
            _fetch_table(dataset_name, *table, hosts)
            made = find_dataset_class(dataset_name)
        return None if made is None else made(dataset_name, **kwargs)


def find_published_table(name: str) -> tuple[str, str | None]:
    """Find address and MD5 of the table that the framework publishes for a benchmark, where it is not in $LMUData.

    Returns:
        ("", None) where it is there, whatever its rows are, or where no address is known.
    """
    here = (find_lmudata_root() / f"{name}.tsv").is_file()
    known = None if here or not is_benchmark(f"vlmevalkit:{name}") else find_benchmark(f"vlmevalkit:{name}").source
    tsv = isinstance(known, Url) and read_url_name(known.url).endswith(".tsv")
    return (known.url, known.md5) if tsv and isinstance(known, Url) else ("", None)


def _fetch_table(name: str, url: str, file_md5: str | None, hosts: Sequence[str]) -> Path:
    opened = functools.partial(open_url, hosts=hosts)
    return download_table(url, file_name=f"{name}.tsv", md5=file_md5, open_url=opened)


def find_dataset_class(name: str) -> type[ImageBaseDataset] | None:
    """Find the class that names a benchmark, the user's before ours, else one by the columns of its table."""
    ours = ImageBaseDataset.__module__
    for one in sorted(_subclasses(ImageBaseDataset), key=lambda one: one.__module__ == ours):
        if name in one.supported_datasets():
            return one
    path = find_lmudata_root() / f"{name}.tsv"
    if not path.is_file():
        return None
    columns = set(pd.read_csv(path, sep="\t", nrows=0).columns)
    return CustomMCQDataset if {"A", "B"} <= columns else CustomVQADataset


def _subclasses(base: type[ImageBaseDataset]) -> Iterator[type[ImageBaseDataset]]:
    for one in base.__subclasses__():
        yield one
        yield from _subclasses(one)


def dataset_type(dataset: str) -> str:
    """Tell the `TYPE` of a benchmark by its name, as the framework's `DATASET_TYPE` does; a model's class may ask.

    Example:
        >>> dataset_type("MME"), dataset_type("my_openended"), dataset_type("mine")
        ('Y/N', 'VQA', 'MCQ')
    """
    for one in _subclasses(ImageBaseDataset):
        if dataset in one.supported_datasets():
            return one.TYPE
    return "VQA" if "openended" in dataset.lower() else "MCQ"


def dataset_modality(dataset: str | None, *, default: str = "IMAGE") -> str:
    """Tell the `MODALITY` of a benchmark by its name, as the framework's `DATASET_MODALITY` does.

    Example:
        >>> dataset_modality("MME"), dataset_modality("my_video_bench"), dataset_modality(None)
        ('IMAGE', 'VIDEO', 'IMAGE')
    """
    named = (one.MODALITY for one in _subclasses(ImageBaseDataset) if dataset in one.supported_datasets())
    return next(named, "VIDEO" if "video" in (dataset or "").lower() else default)
