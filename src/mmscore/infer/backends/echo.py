"""Answers without a model, for tests and for trying a pipeline out.

`--model answer` says the reference answer, `--model prompt` the text of the prompt, `--model
text=TEXT` always TEXT. Knobs follow a colon, `answer:delay=0.1,fail=3`:

    delay=SECONDS   wait before each row
    fail=K          every K-th row of its source file fails
    log=FILE        append the id of each row before it is answered
    batch=N         rows a batch
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmconvert.core.errors import UsageError, show, suggest_spelling
from mmconvert.core.record import Record, join_prompt_text
from mmscore.infer.backend import ModelOptions, check_options
from mmscore.llm.response_cache import Answer, failed

_MODES = ("answer", "prompt", "text=TEXT")
_KNOBS = ("delay", "fail", "log", "batch")


class Echo:
    """Says back what the record holds; see `mmscore.infer.backend.Backend`."""

    def __init__(self, options: ModelOptions) -> None:
        """Read mode and knobs from the model's name.

        Raises:
            UsageError: A mode or knob is unknown, or an option was given that only a model has.
        """
        check_options("echo", options, "--batch-size", "--n")
        self.name, _, knobs = options.model.partition(":")
        if self.name not in _MODES[:2] and not self.name.startswith("text="):
            raise UsageError(
                f"--model {show(self.name)}: echo knows {', '.join(_MODES)}.{suggest_spelling(self.name, _MODES)}"
            )
        values = _read_knobs(knobs)
        # The knobs change when and whether a row is answered, never the answer.
        self.identity = f"echo:{self.name}"
        self.batch_size = options.batch_size or int(values.get("batch", 8))
        self._delay = float(values.get("delay", 0))
        self._fail = int(values.get("fail", 0))
        self._log = Path(values["log"]) if "log" in values else None

    def answer(self, records: Sequence[Record]) -> list[Answer]:
        """Answer records, one after the other."""
        return [self._answer_record(record) for record in records]

    def _answer_record(self, record: Record) -> Answer:
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(record.id + "\n")
        time.sleep(self._delay)
        if self._fail and record.source.row % self._fail == self._fail - 1:
            return failed(f"echo fails every {self._fail}. row")
        return Answer(self._read_text(record), finish_reason="stop")

    def _read_text(self, record: Record) -> str:
        if self.name.startswith("text="):
            return self.name.removeprefix("text=")
        if self.name == "prompt":
            return join_prompt_text(record)
        if record.answer is not None:
            return record.answer
        return record.answers[0] if record.answers else ""


def _read_knobs(text: str) -> Mapping[str, str]:
    values = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name not in _KNOBS:
            raise UsageError(f"echo has no knob {name!r}.{suggest_spelling(name, _KNOBS)} Known: {', '.join(_KNOBS)}.")
        values[name] = value
    for name, kind in (("delay", float), ("fail", int), ("batch", int)):
        try:
            kind(values.get(name, "1"))
        except ValueError:
            raise UsageError(f"echo: {name} is to be a number {show(values[name])}.") from None
    return values


BACKEND = Echo
