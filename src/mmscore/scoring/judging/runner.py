"""A judge model that rows are put to: every question is asked once, and every reply is on the disk.

Questions of many rows are under way at once; each row's own tries follow one another.
"""

import asyncio
import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmscore.core.judge import LEAVE, Case, NoVerdict, Question
from mmscore.core.select_recipe import Choice
from mmscore.llm.budget import CapReachedError, Totals
from mmscore.llm.client import API_KEY, Chat, Endpoint, chat_url, key_from_environment, together
from mmscore.llm.response_cache import FAILED, OK, Answer, AnswerStore, answer_key
from mmscore.scoring.judging.config import Outcome, Setting, Spent
from mmscore.scoring.judging.panel import Panel, Sitting
from mmscore.scoring.judging.request import JudgeRequest, opened_store, store_place

UNASKED = "the cap on calls or tokens is used up. Raise it and run again"
"""Why a row has no verdict that was not asked about, in the same words for all of them."""

CUT_OFF = "length"
"""Finish reason of a reply that reached the most tokens allowed."""


@dataclasses.dataclass(slots=True)
class Tally:
    """What a judge's run did: rows asked about, replies from the store, failures, and what it took.

    Rows that a cap left unasked count as failed too.
    """

    rows: int = 0
    asked: int = 0
    stored: int = 0
    failed: int = 0
    unasked: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ModelJury:
    """A judge model behind a store of its replies.

    Attributes:
        setting: The judge.
        tally: What was done so far.
    """

    def __init__(
        self,
        setting: Setting,
        chat: Chat,
        store: AnswerStore,
        *,
        again: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Join a judge, an endpoint and a store, the last two open.

        Args:
            setting: The judge.
            chat: Whom to ask.
            store: Where replies are kept.
            again: Ask anew about rows that the stored replies left without a verdict.
            progress: Called after each row with the rows settled and those of the batch.
        """
        self.setting = setting
        self.tally = Tally()
        self._chat = chat
        self._store = store
        self._again = again
        self._progress = progress
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._fresh: set[str] = set()

    def judge(self, cases: Sequence[Case]) -> list[Outcome]:
        """Settle cases side by side.

        Raises:
            Error: The endpoint or the store fails for good; what was replied before is kept.
        """
        done = 0

        async def one(case: Case) -> Outcome:
            nonlocal done
            outcome = await self._settle(case)
            done += 1
            self._progress(done, len(cases))
            return outcome

        before = copy.copy(self._chat.totals)
        try:
            outcomes = self._chat.run(together(one(case) for case in cases))
        finally:
            self._count(before, self._chat.totals)
        self._asking.clear()
        self.tally.rows += sum(outcome.step is not LEAVE for outcome in outcomes)
        self.tally.failed += sum(isinstance(outcome.step, NoVerdict) for outcome in outcomes)
        return outcomes

    def _count(self, before: Totals, after: Totals) -> None:
        self.tally.calls += after.calls - before.calls
        self.tally.prompt_tokens += after.prompt_tokens - before.prompt_tokens
        self.tally.completion_tokens += after.completion_tokens - before.completion_tokens

    async def _settle(self, case: Case) -> Outcome:
        outcome, all_stored = await self._walk(case, anew=False)
        if self._again and all_stored and isinstance(outcome.step, NoVerdict):
            outcome, _ = await self._walk(case, anew=True)
        return outcome

    async def _walk(self, case: Case, *, anew: bool) -> tuple[Outcome, bool]:
        """Ask what the protocol says until it has decided; tell whether every reply came from the store."""
        setting, replies, all_stored, digest = self.setting, list[str](), True, None
        cut = False
        while isinstance(step := setting.step(case, replies), Question):
            if len(replies) >= (most := setting.judge.most(setting.strategy)):
                raise Error(f"judge {setting.name!r}: asks more than its {most} tries. Correct `tries`.")
            digest = answer_key(setting.messages(step))
            key = setting.key(step, len(replies))
            try:
                answer, stored = await self._answer(key, step, anew=anew)
            except CapReachedError:
                self.tally.unasked += 1
                return Outcome(NoVerdict(UNASKED), None, digest, len(replies)), False
            all_stored = all_stored and stored
            if answer.text is None:
                return Outcome(NoVerdict(answer.error or FAILED), None, digest, len(replies) + 1), all_stored
            replies.append(answer.text)
            cut = answer.finish_reason == CUT_OFF
        if cut and isinstance(step, NoVerdict):
            step = NoVerdict(f"{step.reason}; the reply was cut off, allow more max_tokens")
        return Outcome(step, replies[-1] if replies else None, digest, len(replies)), all_stored

    async def _answer(self, key: str, question: Question, *, anew: bool) -> tuple[Answer, bool]:
        """Give the reply, and whether it stood in the store before this run."""
        if key not in self._asking:
            stored = self._store.get([key]).get(key)
            if stored is not None and (key in self._fresh or not anew):
                replied = stored.status == OK
                self._chat.replied = self._chat.replied or replied
                self.tally.stored += replied and key not in self._fresh
                return stored, key not in self._fresh
            self._asking[key] = asyncio.ensure_future(self._ask(key, question))
        return await self._asking[key], False

    async def _ask(self, key: str, question: Question) -> Answer:
        setting = self.setting
        answer = await self._chat.ask(setting.messages(question), setting.options(question), model=setting.model)
        # What passes by itself is no state of the row: the next run asks.
        if not answer.passing:
            self._store.put([(key, answer)])
            self._fresh.add(key)
        self.tally.asked += answer.status == OK
        return answer


@contextlib.contextmanager
def opened_chat(request: JudgeRequest) -> Iterator[Chat]:
    """Open the service; the name of the judge model is known then.

    Raises:
        UsageError: There is no address or key, or the service offers several models and none is named.
    """
    url, key = chat_url(request.base_url), key_from_environment(request.api_key_env)
    endpoint = Endpoint(
        url,
        next(iter(request.models), ""),
        key,
        request.api_key_env or API_KEY,
        concurrency=request.concurrency,
        max_calls=request.max_calls,
        max_total_tokens=request.max_total_tokens,
    )
    with Chat(endpoint) as chat:
        if not endpoint.model:
            chat.endpoint = dataclasses.replace(endpoint, model=_only_model(chat))
        yield chat


def _only_model(chat: Chat) -> str:
    models = chat.run(chat.models())
    if len(models) == 1:
        return models[0]
    offered = f" It offers {', '.join(models[:10])}." if models else ""
    raise UsageError(f"no judge model is named.{offered} Name it with --judge-model.")


@contextlib.contextmanager
def opened_sitting(
    request: JudgeRequest, panel: Panel, chat: Chat, predictions: str, choice: Choice
) -> Iterator[Sitting]:
    """Open the store of replies for one predictions file, and say at the end what was done.

    Raises:
        Error: Another process holds the store, or it cannot be written.
    """
    named = [replace(setting, model=setting.model or chat.endpoint.model) for setting in panel.settings]
    with opened_store(store_place(request, predictions)) as store:
        juries = [
            ModelJury(setting, chat, store, again=request.rejudge, progress=request.progress) for setting in named
        ]
        try:
            yield Sitting(replace(panel, settings=tuple(named)), juries, choice)
        finally:
            for jury in juries:
                request.spent(_spent(predictions, jury))


def _spent(predictions: str, jury: ModelJury) -> Spent:
    setting = jury.setting
    return Spent(predictions, setting.title, setting.model, setting.repeat, **dataclasses.asdict(jury.tally))
