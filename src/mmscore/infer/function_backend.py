"""A function of the user's as a backend: a batch of records in, as many answers out."""

from collections.abc import Callable, Iterable, Sequence

from mmconvert.core.errors import Error, show
from mmconvert.core.record import Record
from mmscore.infer.backend import ModelOptions, check_options
from mmscore.infer.thinking import split_thinking
from mmscore.llm.response_cache import Answer, failed

AnswerBatch = Callable[[Sequence[Record]], Iterable[Answer | str | None]]

_BATCH_SIZE = 8


class FunctionBackend:
    """Answers with a function; see `mmscore.infer.backend.Backend`."""

    def __init__(self, plugin: str, function: AnswerBatch, options: ModelOptions) -> None:
        """Read the options.

        Args:
            plugin: How the user named the function, for messages.
            function: Gives a text, an `Answer`, or None where there is no answer, for each record in order. A text
                may begin with a reasoning block; an `Answer` is kept as it is.
            options: `model` is the name for the predictions file; `batch_size` the most records at once.

        Raises:
            UsageError: An option was given that a function of records cannot honour.
        """
        check_options(plugin, options, "--batch-size", "--method", "--n")
        self.name = options.model
        # The runner adds what the function is made of.
        self.identity = f"function:{options.model}"
        self.batch_size = options.batch_size or _BATCH_SIZE
        self._plugin = plugin
        self._function = function

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Call the function.

        Raises:
            Error: What it gave for a record is neither a text nor an `Answer` nor None.
        """
        return [self._read(record, given) for record, given in self._pair_results(records)]

    def _pair_results(self, records: Sequence[Record]) -> list[tuple[Record, object]]:
        given = self._function(records)
        answers = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
        if answers is None or len(answers) != len(records):
            found = show(given) if answers is None else f"(got {len(answers)})"
            raise Error(f"{self._plugin}: expected a list of {len(records)} answers, one a record {found}.")
        return list(zip(records, answers, strict=True))

    def _read(self, record: Record, given: object) -> Answer:
        if isinstance(given, Answer):
            return given
        if isinstance(given, str):
            thinking, text = split_thinking(given)
            return Answer(text, thinking=thinking)
        if given is None:
            return failed(f"{self._plugin} gave no answer")
        raise Error(f"{self._plugin}: row {record.id!r}: expected a text, an Answer or None {show(given)}.")
