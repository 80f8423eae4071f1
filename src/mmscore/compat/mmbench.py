"""MMBench's door: the loader of its evaluation document, the prompt, and the workbook of results.

    dataset = MMBenchDataset("MMBench_DEV_EN.tsv")
    responses = [model(data["img"], inference_prompt(data)) for data in dataset]
    save_results(dataset, responses, "results.xlsx")

Samples have the document's keys and values: pandas reads the table with all defaults, so that an option
`None` is no option and a column of numbers holds numbers (docs/kits/mmbench.md).
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mmconvert.core.errors import (
    Error,
    RowError,
    UsageError,
    build_missing_path_error,
    in_field,
    show,
    suggest_spelling,
    take_first_line,
)
from mmconvert.images.loader import ImageLoader
from mmconvert.images.verify import FORMATS, open_image
from mmconvert.kits.vlmevalkit.lmu_table import REFERENCE_LENGTH
from mmconvert.pipeline.convert import read, write
from mmconvert.plugins.format import Loss, Target
from mmconvert.prompts.mmbench import SYS_PROMPT, build_options_text, build_question_text, read_question

if TYPE_CHECKING:
    import PIL.Image

TABLE, SUBMISSION = "lmudata", "mmbench"
"""Names of the formats of the table and of the workbook."""


class MMBenchDataset:
    """The questions of a table, as `MMBenchDataset` of the document gives them.

    An image cell may also name the row whose image it shares, as in VLMEvalKit's packaging of the table, which the
    document's own loader cannot read.

    Attributes:
        df: The table as pandas reads it.
        sys_prompt: The line before the options.
    """

    def __init__(self, data_file: str | Path, sys_prompt: str = SYS_PROMPT) -> None:
        """Read a table.

        Args:
            data_file: TSV with index, image, question, category, l2-category, and A, B, ... as far as there are.
            sys_prompt: The line before the options.

        Raises:
            UsageError: There is no such file, or it is not a table of text.

        Parity: open-compass/MMBench@20faed3 README.
        """
        import pandas as pd  # takes long to load

        if not Path(data_file).is_file():
            raise build_missing_path_error(Path(data_file))
        self.data_file = Path(data_file)
        try:
            self.df = pd.read_csv(data_file, sep="\t")
        except ValueError as error:
            raise UsageError(
                f"{data_file}: is not a table of text ({take_first_line(error)}). "
                "Name a .tsv file, columns separated by tabs."
            ) from None
        self.sys_prompt = sys_prompt
        self._places: Mapping[str, int] | None = None

    def __len__(self) -> int:
        """Count the questions."""
        return len(self.df)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """Give a question.

        Returns:
            img (a Pillow image, not decoded yet), question, answer (None without such a column), options (the text),
            category, l2-category, options_dict, index, context (the hint, None for none).

        Raises:
            IndexError: There is no such row.
            Error: A column is missing, or the image is none.
        """
        cells = self.df.iloc[idx].items()
        try:
            return self._sample({str(name): None if self._is_missing(cell) else cell for name, cell in cells})
        except RowError as error:
            raise Error(f"{self.data_file} row {idx} {error.field}: {error.message}") from None

    def _sample(self, row: Mapping[str, Any]) -> dict[str, Any]:
        found = read_question(row)
        with in_field("image"):
            image = decode_base64_to_image(self._shared(str(row["image"])) if row["image"] is not None else "")
        return {
            "img": image,
            "question": found.question,
            "answer": found.answer,
            "options": build_options_text(found.options, self.sys_prompt),
            "category": found.category,
            "l2-category": found.l2_category,
            "options_dict": dict(found.options),
            "index": found.index,
            "context": found.context,
        }

    def load_from_df(self, idx: int, key: str) -> Any:
        """Give a cell; None where it is empty, or there is no such column."""
        cell = self.df.iloc[idx].get(key)
        return None if self._is_missing(cell) else cell

    @staticmethod
    def _is_missing(cell: Any) -> bool:
        return cell is None or cell != cell  # NaN alone differs from itself

    def _shared(self, cell: str) -> str:
        """Follow a cell that names another row to that row's image."""
        seen: set[str] = set()
        while len(cell) <= REFERENCE_LENGTH and cell in self._rows():
            if cell in seen:
                raise RowError("image.reference", "image", f"rows name each other's image {show(cell)}.")
            seen.add(cell)
            cell = str(self.load_from_df(self._rows()[cell], "image"))
        return cell

    def _rows(self) -> Mapping[str, int]:
        if self._places is None:
            self._places = {str(index): place for place, index in enumerate(self.df["index"])}
        return self._places


def decode_base64_to_image(base64_string: str) -> "PIL.Image.Image":
    """Open an image; its pixels are decoded when they are first used, its mode is kept.

    Raises:
        RowError: The text is no base64, no image of a known format, or one whose decoder takes too much.
    """
    import PIL.Image

    data = ImageLoader(()).of_base64(base64_string, 1).bytes or b""
    with open_image(data):
        pass  # what it refuses, no caller shall decode
    return PIL.Image.open(io.BytesIO(data), formats=FORMATS)


def inference_prompt(data_sample: Mapping[str, Any]) -> str:
    r"""Word a sample as the document does: hint, question, options.

    Raises:
        RowError: Question or hint is not a text (an empty cell, a column of numbers).

    Example:
        >>> inference_prompt({"context": None, "question": "Which?", "options": "Choose:\nA. cat\n"})
        'Which? Choose:\nA. cat\n'
    """
    return build_question_text(data_sample["question"], data_sample["options"], data_sample["context"])


def save_results(
    dataset: MMBenchDataset | str | Path,
    predictions: Mapping[Any, str] | Sequence[str],
    output: str | Path,
    columns: str | None = None,
) -> list[Loss]:
    """Write a model's responses as the workbook that the document asks for; the cells are the table's own texts.

    Args:
        dataset: The questions, or their table.
        predictions: A response for each question: by its index, or one after the other.
        output: The .xlsx file.
        columns: `submission` (the document's, the default) or `server`, what the server's own checks look for.

    Returns:
        What the workbook does not hold.

    Raises:
        UsageError: A question has no response, or a response no question.
        Error: The table is damaged, or a text does not fit a cell.
    """
    records = read(dataset.data_file if isinstance(dataset, MMBenchDataset) else dataset, TABLE)
    rows = list(records)
    if records.rejects:
        raise UsageError(f"{records.rejects[0]} Correct the table, or leave the row out.")
    if not isinstance(predictions, Mapping):
        if len(predictions) != len(rows):
            raise UsageError(f"predictions: expected {len(rows)}, one a question (got {len(predictions)}).")
        predictions = {row.id: response for row, response in zip(rows, predictions, strict=True)}
    responses = {str(index): response for index, response in predictions.items()}
    if strange := responses.keys() - {row.id for row in rows}:
        name = min(strange)
        raise UsageError(
            f"predictions: no question has the index {name!r}.{suggest_spelling(name, [r.id for r in rows])}"
        )
    for row in rows:
        if not isinstance(responses.get(row.id), str):
            raise UsageError(
                f"predictions: question {row.id} has no response {show(responses.get(row.id))}. Give a text."
            )
    answered = [replace(row, prediction=responses[row.id]) for row in rows]
    return write(answered, Target(Path(output), columns=columns), SUBMISSION)
