"""Knows each row's key and stored answer, keeps new answers, and counts."""

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmconvert.core.errors import Error
from mmconvert.core.progress import Advance, Done
from mmconvert.core.record import Record, estimate_weight
from mmscore.llm.response_cache import OK, Answer, AnswerStore, NoRoomError, build_answer_key, failed

ELSEWHERE = Answer(status="elsewhere")
"""Stands for the answer of a row that another process is asking about; never stored or written."""

UNASKED = Answer(status="skipped")
"""Stands for the answer of a row that a stopped run has not come to; never stored."""

_PROVEN = Answer(status="proven")
"""Stands in the store beside the answers, for settings under which a row was answered."""

CONTENT = (
    *("task", "question", "hint", "instruction", "options", "answer", "answers", "label", "category", "l2_category"),
    *("split", "dataset", "subset", "extra", "prediction"),
)
"""Columns beside turns and images that say what a row is; the others say where it stands and what it is called."""

_SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(slots=True)
class Summary:
    """What a run did: rows in the output, rows asked now, rows reused from the store, rows without answer.

    Tokens, and what they cost where a price is known, are those of the rows of the output, whichever run asked
    them, as far as the backend counted them.
    """

    rows: int = 0
    asked: int = 0
    reused: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    output: str = ""
    cost: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Give the object that `mmscore predict --json` prints."""
        return asdict(self)


class Ledger:
    """The rows of one run: which are answered, which are to be asked, and by whom."""

    def __init__(
        self, store: AnswerStore, settings: Sequence[Any], advance: Advance, *, total: int, columns: Sequence[str]
    ) -> None:
        """Begin with nothing done.

        Args:
            store: Where answers are kept.
            settings: JSON values that an answer depends on beside its prompt.
            advance: Called with the rows done after each group.
            total: Rows of the output.
            columns: Columns beside turns and images that an answer depends on.
        """
        self.summary = Summary()
        self.elsewhere: list[str] = []
        self._settings = settings
        self._total = total
        self._columns = columns
        self._store = store
        self._advance = advance
        self._seen: Counter[str] = Counter()
        self._own: set[str] = set()
        self._proof = build_answer_key("proven", *settings)
        self._proven = False
        self._left = self._bytes = 0

    @property
    def rows(self) -> int:
        """Rows that have an answer, or are left to another process."""
        return self.summary.rows + self._left

    @property
    def answered(self) -> bool:
        """Whether a row has an answer under these settings, given now or earlier, wherever it stands."""
        return self._proven or self.summary.rows > self.summary.failed

    def begin(self) -> None:
        """Begin with the first row again; what was asked before stays counted as asked."""
        self.summary = Summary(asked=self.summary.asked)
        self.elsewhere, self._left, self._bytes = [], 0, 0
        self._seen.clear()
        self._proven = bool(self._store.get([self._proof]))

    def key(self, record: Record) -> str:
        """Digest what an answer depends on of the row, and the settings; the n-th row that is the same has its own."""
        self._bytes += estimate_weight(record)
        prompt = build_answer_key(_build_prompt_key(record), *[getattr(record, name) for name in self._columns])
        self._seen[prompt] += 1
        return build_answer_key(prompt, self._seen[prompt], *self._settings)

    def look_up(self, known: Sequence[Answer | None], keys: Sequence[str]) -> list[Answer | None]:
        """Give the answers of rows that need not be asked, None for the others.

        Args:
            known: Answers that hang on no model, None for rows that may be asked.
            keys: The key of each row.
        """
        stored = self._store.get(keys)
        _, in_vain = self._store.look_up_claims(keys)
        found = [one or _find_reusable(stored.get(k), final=k in in_vain) for one, k in zip(known, keys, strict=True)]
        own = self._own
        self.summary.reused += sum(
            answer is not None and answer.status == OK and key not in own
            for answer, key in zip(found, keys, strict=True)
        )
        # Rows that wait for another row, which is elsewhere.
        self._left += sum(answer is ELSEWHERE for answer in found)
        self._count([answer for answer in found if answer is not None and answer is not ELSEWHERE])
        return found

    def take(self, wanted: Sequence[int], keys: Sequence[str], most: int) -> list[int]:
        """Choose rows to ask now.

        Args:
            wanted: Rows without an answer, in the order in which they are to be asked.
            keys: The key of each row.
            most: How many to choose at most, from 1.

        Returns:
            The first of the rows; where processes share, those of them that nobody else is asking about.
        """
        taken = set(self._store.claim([keys[row] for row in wanted], most))
        return [row for row in wanted if keys[row] in taken]

    def leave(self, keys: Sequence[str]) -> None:
        """Leave rows to the processes that have claimed them."""
        self.elsewhere += keys
        self._left += len(keys)

    def wait(self) -> None:
        """Wait for the rows that were left to others, until they are answered or those who claimed them are gone."""
        left = set(self.elsewhere)
        while left:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            busy, in_vain = self._store.look_up_claims([*left])
            answered = {key for key, answer in self._store.get([*left]).items() if answer.status == OK}
            if left - busy - answered - in_vain:
                return
            left = busy

    def keep(self, answers: Sequence[tuple[str, Answer]]) -> None:
        """Store answers by key.

        Raises:
            Error: There is no room for them; says how much the rows that are left need.
        """
        proof = [(self._proof, _PROVEN)] if any(answer.status == OK for _, answer in answers) else []
        try:
            self._store.put([*answers, *([] if self._proven else proof)])
        except NoRoomError as error:
            # The log and the database hold an answer each, and the predictions file holds all of them again.
            needed = error.bytes_an_answer * (2 * (self._total - self.rows) + self._total)
            raise Error(
                f"{error} The rows left and the predictions file need about {needed:,} bytes. "
                "Make room and run the same command again."
            ) from error
        self._proven = self._proven or bool(proof)
        self.summary.asked += len(answers)
        if self._store.shared:
            self._own.update(key for key, _ in answers)
        self._count([answer for _, answer in answers])

    def _count(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            self.summary.rows += 1
            self.summary.failed += answer.status != OK
            self.summary.prompt_tokens += answer.prompt_tokens or 0
            self.summary.completion_tokens += answer.completion_tokens or 0
        note = f"{self.summary.failed:,} failed" if self.summary.failed else ""
        done = Done(self.summary.rows, self._bytes, total=self._total, fresh=self.summary.asked, note=note)
        self._advance(done)


def _build_prompt_key(record: Record) -> dict[str, Any]:
    return {
        "messages": [[turn.role, [[part.type, part.text] for part in turn.content]] for turn in record.messages],
        # Digests of the bytes themselves: an image that was exchanged may still carry the old digest.
        "images": [
            [hashlib.sha256(image.bytes).hexdigest() if image.bytes is not None else image.url, image.detail]
            for image in record.images
        ],
    }


def _find_reusable(stored: Answer | None, *, final: bool) -> Answer | None:
    """Pass over a stored failure, which is asked again, unless one of those who share asked it just now."""
    return stored if stored is not None and (stored.status == OK or final) else None


def refuse_record(record: Record, *, continues: bool) -> Answer | None:
    """Refuse a row that no model can be asked about; None for the others.

    Args:
        record: The row as it would be asked.
        continues: A last turn of the assistant is the beginning of the response.
    """
    parts = sum(part.type == "image" for turn in record.messages for part in turn.content)
    if parts != len(record.images):
        return failed(
            f"images: the prompt shows {parts} images, the row holds {len(record.images)}. "
            "Give the dataset itself, not a predictions file."
        )
    if not record.messages or (record.messages[-1].role == "assistant" and not continues):
        return failed(
            "messages: the last turn is the assistant's, there is nothing to answer. "
            "Convert with --view eval, or give --continue-final-message."
        )
    return None
