"""A judge ready for rows: its settings, who is asked, what becomes of a row, and what asking would cost.

Every question is asked once, and every response is on the disk, kept under a digest of what was asked: prompt, model,
generation options and the number of the try. Questions of many rows are under way at once; each row's own tries
follow one another.
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mmconvert.core.errors import Error, UsageError, show
from mmconvert.core.lazy import LazyModule
from mmconvert.core.record import encode_json
from mmconvert.plugins.registry import name_by_content
from mmscore.core.judge import LEAVE, RULE, SYSTEM_PROMPT, Case, Judge, JudgeQuestion, Leave, NoVerdict, Step, Verdict
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item
from mmscore.llm.batches import Batches, PostponedError
from mmscore.llm.budget import CapReachedError, Totals, estimate_tokens
from mmscore.llm.client import Chat, gather_in_order
from mmscore.llm.prices import TokenUsage
from mmscore.llm.response_cache import FAILED, OK, Answer, AnswerStore, build_answer_key

if TYPE_CHECKING:  # takes time to load, and who has no judge does without
    import asyncio
else:
    asyncio = LazyModule("asyncio")

Message = dict[str, str]


class JudgeSetting(msgspec.Struct, frozen=True):
    """A judge with all that its responses depend on.

    Attributes:
        name: The judge, as the user named it.
        judge: Its protocol.
        version: One of its versions.
        strategy: One of its strategies, or `RULE`; `auto` is settled.
        model: Name of the judge model; "" when it is not known (a dry run).
        wording: The user's own prompt template, or None.
        generation: The user's options of the chat completion.
        repeat: Which asking of the same question this is, from 0; its response is one of its own.
        labels: The user's own verdicts and what each is worth, or None.
        pattern: The user's own regular expression for the verdict, or None.
        system: The user's own system turn, in the place of the judge's; None for the judge's.
        kit_prompts: The framework's own prompts by name, read from a checkout; None for ours or the user's.
        built_in: Name of the framework whose prompts ours stand for; None where they do not.
    """

    name: str
    judge: Judge
    version: str
    strategy: str
    model: str = ""
    wording: str | None = None
    generation: Mapping[str, Any] = msgspec.field(default_factory=dict)
    repeat: int = 0
    labels: Mapping[str, float] | None = None
    pattern: str | None = None
    system: str | None = None
    kit_prompts: Mapping[str, str] | None = None
    built_in: str | None = None

    @property
    def title(self) -> str:
        """Name and version of the judge."""
        return f"{self.name}@{self.version}"

    @property
    def asks(self) -> bool:
        """Whether anybody is asked at all."""
        return self.strategy != RULE

    def build_case(self, item: Item, parsed: Parsed, scores: Mapping[str, float], options: Mapping[str, Any]) -> Case:
        """Lay a row before the judge, with what the recipe was configured with."""
        prompt = self.wording if self.kit_prompts is None else self._choose_kit_prompt(item, options)
        own = (prompt, options, self.labels, self.pattern, self.kit_prompts is not None)
        return Case(item, parsed, scores, self.version, self.strategy, *own)

    def _choose_kit_prompt(self, item: Item, options: Mapping[str, Any]) -> str | None:
        kit, prompts = self.judge.kit_prompts, self.kit_prompts or {}
        name = None if kit is None else kit.choose(item, options)
        if name is None or name in prompts:
            return None if name is None else prompts[name]
        known = ", ".join(prompts)
        raise UsageError(f"judge {self.name!r}: no prompt {name!r} was read, of {known}. Give --judge-prompt FILE.")

    def step(self, case: Case, replies: Sequence[str]) -> Step:
        """Let the judge say what comes next.

        Raises:
            Error: It says nothing that a judge can say, as a user's own may.
        """
        step: object = self.judge.step(case, tuple(replies))
        if not isinstance(step, Step):
            raise Error(
                f"judge {self.name!r}: `step` returns no Question, Verdict, NoVerdict or LEAVE {show(step)}. "
                "Return one of them for every row and response."
            )
        return step

    def messages(self, question: JudgeQuestion) -> list[Message]:
        """Lay a question out as chat turns."""
        text = self.system or question.system or (self.kit_prompts or {}).get(SYSTEM_PROMPT)
        system = [] if text is None else [{"role": "system", "content": text}]
        return [*system, {"role": "user", "content": question.prompt}]

    def options(self, question: JudgeQuestion) -> dict[str, Any]:
        """Give the options of the chat completion: the judge's, the question's, the user's; the last wins."""
        return {**self.judge.generation, **question.generation, **self.generation}

    def key(self, question: JudgeQuestion, number: int) -> str:
        """Digest all that the response to a row's question number `number` (from 0) depends on."""
        again = [self.repeat] if self.repeat else []
        return build_answer_key("judge", self.messages(question), self.model, self.options(question), number, *again)

    def signature(self) -> Mapping[str, str]:
        """Name what the numbers depend on, for the signature of a report."""
        title = f"{name_by_content(self.name)}@{self.version}"
        if not self.asks:
            return {"judge": title, "judge_strategy": self.strategy}
        options = {**self.judge.generation, **self.generation}
        named = {
            "judge": title,
            "judge_strategy": self.strategy,
            "judge_model": self.model,
            "judge_generation": ",".join(f"{name}={encode_json(options[name])}" for name in sorted(options)),
        }
        if self.built_in is not None:
            named["judge_prompt"] = describe_built_in(self.built_in).partition(": ")[2]
        own = {
            "judge_prompt": self.kit_prompts or self.wording,
            "judge_score_mapping": self.labels,
            "judge_score_pattern": self.pattern,
            "judge_system": self.system,
        }
        return named | {name: build_answer_key(wish)[:16] for name, wish in own.items() if wish is not None}


def describe_built_in(kit: str) -> str:
    """Say that a prompt of ours was used in the place of a framework's."""
    return f"judge prompt: built in, not {kit}'s"


class CaseOutcome(msgspec.Struct, frozen=True):
    """What became of one case.

    Attributes:
        step: The judge's last word.
        reply: The last response; None when there was none.
        prompt_sha256: Digest of the last question, as chat turns; None when nothing was asked.
        tries: Questions asked about the row, now or earlier.
        votes: What each judge said, where there are several; else none.
        models: The models that were asked.
    """

    step: Verdict | NoVerdict | Leave
    reply: str | None = None
    prompt_sha256: str | None = None
    tries: int = 0
    votes: tuple["Vote", ...] = ()
    models: tuple[str, ...] = ()


class Vote(msgspec.Struct, frozen=True):
    """What one of several judges said about a row.

    Attributes:
        judge: Name and version of the judge.
        model: The judge model.
        repeat: Which asking of the same question this is, from 0.
        reply: Its last response; None when there was none.
        value: What it read in the answer, None for nothing.
        scores: The row's scores by this judge alone; None without a verdict.
        error: Why there is no verdict, else None.
        reads: It reads the answer and leaves the scores to the recipe.
    """

    judge: str
    model: str
    repeat: int
    reply: str | None
    value: str | None
    scores: Mapping[str, float] | None
    error: str | None = None
    reads: bool = False


UNASKED = CaseOutcome(LEAVE)


class Jury(Protocol):
    """Whoever cases are put to: a judge model, or a dry run that only counts.

    Attributes:
        setting: The judge.
    """

    setting: JudgeSetting

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Settle cases; one outcome a case, in order."""
        ...


class Spent(msgspec.Struct, frozen=True):
    """What judging one file took.

    Attributes:
        predictions: The file, as the user wrote it.
        judge: Name and version of the judge.
        model: The judge model.
        repeat: Which asking of the same questions this is, from 0.
        rows: Rows that the judge was asked about, now or earlier.
        failed: Those of them without a verdict.
        unasked: Those of the failed that a cap on calls or tokens kept from being asked.
        stored: Responses from the store.
        asked: New responses.
        calls: Calls that were sent, retries included.
        prompt_tokens: Tokens of the prompts of new responses, as the service counts them.
        completion_tokens: Tokens of the new responses.
        built_in: Name of the framework whose prompt ours stands for; None where it does not.
    """

    predictions: str
    judge: str
    model: str
    repeat: int
    rows: int
    failed: int
    unasked: int
    stored: int
    asked: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    built_in: str | None = None

    def __str__(self) -> str:
        """Say it in a sentence."""
        lost = self.failed - self.unasked
        failed = f", {lost} samples without a verdict (--rejudge failed judges them again)" if lost else ""
        failed += (
            (f", {self.unasked:,} samples not judged: the limit of requests or tokens is reached")
            if self.unasked
            else ""
        )
        again = f", repeat {self.repeat + 1}" if self.repeat else ""
        prompt = f"; {describe_built_in(self.built_in)}" if self.built_in else ""
        return (
            f"{self.predictions}: judge {self.judge} ({self.model}{again}): {self.rows:,} rows, "
            f"{self.stored:,} responses from the store, {self.asked:,} new in {self.calls:,} calls, "
            f"{self.prompt_tokens:,} + {self.completion_tokens:,} tokens{failed}{prompt}"
        )


@dataclass(slots=True)
class JudgeCost:
    """What a judge would cost; tokens are guessed at three to four characters each, one for Chinese.

    Attributes:
        rows: Rows that the judge would be asked about, the answered ones included.
        calls: Calls that the store cannot answer, if no question is asked twice for want of a verdict.
        most_calls: The same if none does and every try is needed, retries aside.
        stored: Questions that stored responses answer; None where no model is named, whose responses they would be.
        prompt_tokens: Tokens of `calls` prompts.
        most_completion_tokens: Tokens that `calls` responses may have; None where the judge sets no limit.
    """

    rows: int = 0
    calls: int = 0
    most_calls: int = 0
    stored: int | None = 0
    prompt_tokens: int = 0
    most_completion_tokens: int | None = 0


class DryJury:
    """Counts what a judge would be asked, and asks nothing.

    Attributes:
        setting: The judge.
        estimate: The count so far.
    """

    def __init__(self, setting: JudgeSetting, store: AnswerStore | None, *, again: bool = False) -> None:
        """Join a judge and the store of its responses, None where there is none yet."""
        self.setting = setting
        self.estimate = JudgeCost(stored=0 if setting.model else None)
        self._store = store if setting.model else None
        self._again = again
        self._seen: set[str] = set()

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Count; every case is left as the rules scored it."""
        for case in cases:
            self._count(case)
        return [UNASKED] * len(cases)

    def _count(self, case: Case) -> None:
        responses = list[str]()
        first = step = self.setting.step(case, ())
        if not isinstance(first, JudgeQuestion):
            return
        self.estimate.rows += 1
        while isinstance(step, JudgeQuestion):
            key = self.setting.key(step, len(responses))
            stored = self._store.get([key]).get(key) if self._store else None
            if stored is None:
                self._add(key, step, len(responses))
                return
            if stored.text is None:
                step = NoVerdict(stored.error or FAILED)
                break
            self.estimate.stored = (self.estimate.stored or 0) + 1
            responses.append(stored.text)
            step = self.setting.step(case, responses)
        if self._again and isinstance(step, NoVerdict):
            self._add(self.setting.key(first, 0), first, 0)

    def _add(self, key: str, question: JudgeQuestion, asked: int) -> None:
        if key in self._seen:
            return
        self._seen.add(key)
        estimate, judge, strategy = self.estimate, self.setting.judge, self.setting.strategy
        calls = max(1, judge.least(strategy) - asked)
        estimate.calls += calls
        estimate.most_calls += judge.most(strategy) - asked
        estimate.prompt_tokens += calls * sum(estimate_tokens(t["content"]) for t in self.setting.messages(question))
        options = self.setting.options(question)
        limit = options.get("max_tokens", options.get("max_completion_tokens"))
        if isinstance(limit, int) and estimate.most_completion_tokens is not None:
            estimate.most_completion_tokens += calls * limit
        else:
            estimate.most_completion_tokens = None


CAP_REACHED = "the cap on calls or tokens is used up. Raise it and run again"
"""Why a row has no verdict that was not asked about, in the same words for all of them."""

CUT_OFF = "length"
"""Finish reason of a response that reached the most tokens allowed."""


@dataclasses.dataclass(slots=True)
class JudgeTally:
    """What a judge's run did: rows asked about, responses from the store, failures, and what it took.

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
    """A judge model behind a store of its responses.

    Attributes:
        setting: The judge.
        tally: What was done so far.
        usage: Tokens of all responses behind the outcomes, stored ones too: those asked one by one, those of batches.
    """

    def __init__(
        self,
        setting: JudgeSetting,
        chat: Chat,
        store: AnswerStore,
        *,
        again: bool = False,
        progress: Callable[[int, int], None] | None = None,
        batches: Batches | None = None,
    ) -> None:
        """Join a judge, an endpoint and a store, the last two open.

        Args:
            setting: The judge.
            chat: Whom to ask.
            store: Where responses are kept.
            again: Ask again about rows that the stored responses left without a verdict.
            progress: Called after each row with the rows settled and those of the batch.
            batches: Take the questions, see `gather`; None asks each by itself.
        """
        self.setting = setting
        self.tally = JudgeTally()
        self.usage = (TokenUsage(), TokenUsage())
        self._used: set[str] = set()
        self._batches = batches
        self._postponed: set[str] = set()
        self._chat = chat
        self._store = store
        self._again = again
        self._progress = progress
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._fresh: set[str] = set()

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Settle cases side by side.

        Raises:
            Error: The endpoint or the store fails for good; what was replied before is kept.
        """
        done = 0

        async def one(case: Case) -> CaseOutcome:
            nonlocal done
            outcome = await self._judge_case(case)
            done += 1
            if self._progress:
                self._progress(done, len(cases))
            return outcome

        before = copy.copy(self._chat.totals)
        try:
            outcomes = self._chat.run(gather_in_order(one(case) for case in cases))
        finally:
            self._count(before, self._chat.totals)
        self._asking.clear()
        self.tally.rows += sum(outcome.step is not LEAVE for outcome in outcomes)
        self.tally.failed += sum(isinstance(outcome.step, NoVerdict) for outcome in outcomes)
        return outcomes

    def gather(self, cases: Sequence[Case]) -> None:
        """Let the batches take the next question of each case."""
        kept = copy.copy(self.tally)
        self._chat.run(gather_in_order(self._judge_case(case) for case in cases))
        self._asking.clear()
        self._used.clear()
        self.tally, self.usage = kept, (TokenUsage(), TokenUsage())

    def take_fetched(self, answers: Mapping[str, Answer]) -> None:
        """Learn what became of the questions that batches took of this judge."""
        for answer in (answers[key] for key in self._postponed & answers.keys()):
            self.tally.calls += 1
            self.tally.asked += answer.status == OK
            self.tally.prompt_tokens += answer.prompt_tokens or 0
            self.tally.completion_tokens += answer.completion_tokens or 0
        self._fresh |= self._postponed
        self._postponed.clear()

    def _count(self, before: Totals, after: Totals) -> None:
        self.tally.calls += after.calls - before.calls
        self.tally.prompt_tokens += after.prompt_tokens - before.prompt_tokens
        self.tally.completion_tokens += after.completion_tokens - before.completion_tokens

    async def _judge_case(self, case: Case) -> CaseOutcome:
        outcome, all_stored = await self._walk(case, anew=False)
        if self._again and all_stored and isinstance(outcome.step, NoVerdict):
            outcome, _ = await self._walk(case, anew=True)
        return outcome

    async def _walk(self, case: Case, *, anew: bool) -> tuple[CaseOutcome, bool]:
        """Ask what the protocol says until it has decided; tell whether every response came from the store."""
        setting, responses, all_stored, digest = self.setting, list[str](), True, None
        cut = False
        while isinstance(step := setting.step(case, responses), JudgeQuestion):
            if len(responses) >= (most := setting.judge.most(setting.strategy)):
                raise Error(f"judge {setting.name!r}: asks more than its {most} tries. Correct `tries`.")
            digest = build_answer_key(setting.messages(step))
            key = setting.key(step, len(responses))
            # Behind a response of this run no older one counts, also where batches brought it in an earlier round.
            anew = anew or (self._again and not all_stored)
            try:
                answer, stored = await self._read_or_ask(key, step, anew=anew)
            except PostponedError:
                self._postponed.add(key)
                return UNASKED, False
            except CapReachedError:
                self.tally.unasked += 1
                return CaseOutcome(NoVerdict(CAP_REACHED), None, digest, len(responses)), False
            all_stored = all_stored and stored
            self._add_usage(key, answer)
            if answer.text is None:
                return CaseOutcome(NoVerdict(answer.error or FAILED), None, digest, len(responses) + 1), all_stored
            responses.append(answer.text)
            cut = answer.finish_reason == CUT_OFF
        if cut and isinstance(step, NoVerdict):
            step = NoVerdict(f"{step.reason}; the response was cut off, allow more max_tokens")
        return CaseOutcome(step, responses[-1] if responses else None, digest, len(responses)), all_stored

    def _add_usage(self, key: str, answer: Answer) -> None:
        if key in self._used or answer.text is None:
            return
        self._used.add(key)
        usage = self.usage[bool(answer.batch)]
        usage.responses += 1
        usage.uncounted += answer.prompt_tokens is None and answer.completion_tokens is None
        usage.prompt += answer.prompt_tokens or 0
        usage.cached += answer.cached_tokens or 0
        usage.completion += answer.completion_tokens or 0

    async def _read_or_ask(self, key: str, question: JudgeQuestion, *, anew: bool) -> tuple[Answer, bool]:
        """Give the response, and whether it stood in the store before this run."""
        if key not in self._asking:
            stored = self._store.get([key]).get(key)
            if stored is not None and (key in self._fresh or not anew):
                replied = stored.status == OK
                self._chat.replied = self._chat.replied or replied
                self.tally.stored += replied and key not in self._fresh
                return stored, key not in self._fresh
            self._asking[key] = asyncio.ensure_future(self._ask(key, question))
        return await self._asking[key], False

    async def _ask(self, key: str, question: JudgeQuestion) -> Answer:
        setting = self.setting
        messages, options = setting.messages(question), setting.options(question)
        if self._batches is not None:
            return self._batches.take(key, messages, options, model=setting.model)
        answer = await self._chat.ask(messages, options, model=setting.model)
        # What passes by itself is no state of the row: the next run asks.
        if not answer.passing:
            self._store.put([(key, answer)])
            self._fresh.add(key)
        self.tally.asked += answer.status == OK
        return answer


class Gathering:
    """A judge whose questions batches take; no row has an outcome yet.

    Attributes:
        setting: The judge.
    """

    def __init__(self, jury: ModelJury) -> None:
        """Take the judge, who has batches."""
        self.setting = jury.setting
        self._jury = jury

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Let batches take the next question of each case."""
        self._jury.gather(cases)
        return [UNASKED] * len(cases)
