"""How a model judges one response: the contract of the files in `mmscore/judges`.

A judge is a function `step` without input or output. It is shown a row and the judge model's
responses so far, and says what comes next: a `JudgeQuestion` to ask the model, a `Verdict`, `NoVerdict`
when it cannot tell, or `LEAVE` when the row needs no judge. Asking, retrying, storing and counting
are done elsewhere (`mmscore.scoring.judging.jury`), so that a protocol is a pure function and its tests need no
server:

    def _step(case: Case, responses: Sequence[str]) -> Step:
        if case.parsed.value is not None:              # the rules could read it: nobody is asked
            return LEAVE
        if responses and (letter := read_letter(responses[-1])) is not None:
            return Verdict(parsed=Parsed(letter, "judge"))
        if len(responses) == 5:
            return NoVerdict("five replies without a letter")
        return Question(prompt_of(case.item), {"temperature": 0.5 * len(responses)})

`step` is called again after each response, with one response more, and must give the same step for the
same arguments. It never sees a failed call: a row whose question got no response is `judge_failed`, as
is one that ends with `NoVerdict`. A failure is never a score, also where a framework makes it one.

The judged text belongs to a stranger. `fence_text` sets it between lines that it cannot imitate, and a
verdict is read from the judge's response alone, strictly: what cannot be read, or lies out of range, is
`NoVerdict`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from mmconvert.core.plugin_struct import PluginStruct
from mmscore.core.parsed import Parsed
from mmscore.core.recipe import Item

JUDGES = "mmscore.judges"
"""Group of the plug-ins: `mmscore/judges/<name>.py` exports `JUDGE`."""

RULE = "rule"
"""Strategy that every judge has: the recipe's rules alone, nobody is asked."""

AUTO = "auto"
"""Strategy that stands for the judge's own choice, `Judge.auto`."""

JUDGED = "judge"
"""`Parsed.how` of what a judge decided."""


class Case(PluginStruct, frozen=True):
    """One row that a judge may be asked about.

    Attributes:
        item: The row; `Judge.columns` and the recipe's fields are filled.
        parsed: What the recipe's rules read in the response.
        scores: What they gave for it; empty when the recipe leaves the row out.
        version: Version of the judge.
        strategy: One of the judge's strategies, never `auto` or `rule`.
        wording: The user's own prompt template of the prompt (`--judge-prompt`), or the framework's own for this row;
        else
            None.
        from_kit: The prompt template is the framework's own, read from a checkout; texts go into it as they are.
        options: What the recipe was configured with (`--recipe-options`).
        labels: The user's own verdicts and what each is worth (`--judge-score-mapping`), else None.
        pattern: The user's own regular expression for the verdict (`--judge-score-pattern`), else None.
    """

    item: Item
    parsed: Parsed
    scores: Mapping[str, float]
    version: str
    strategy: str
    wording: str | None = None
    options: Mapping[str, Any] = msgspec.field(default_factory=dict)
    labels: Mapping[str, float] | None = None
    pattern: str | None = None
    from_kit: bool = False


class JudgeQuestion(PluginStruct, frozen=True):
    """What to ask the judge model next; each question is a conversation of its own.

    Attributes:
        prompt: Text of the user's turn.
        generation: Options of the chat completion that this try needs (`{"temperature": 0.5}`); they
            win over `Judge.generation`, and the user's own (`--judge-generation`) win over them.
        system: Text of a system turn in front; None for none.
    """

    prompt: str
    generation: Mapping[str, Any] = msgspec.field(default_factory=dict)
    system: str | None = None


class Verdict(PluginStruct, frozen=True):
    """What the judge decided.

    Attributes:
        parsed: What it read in the judged response (an extracted letter, word or number); None keeps
            what the rules read, marked as judged.
        scores: The row's scores, in the place of those that the rules gave; {} leaves the row out.
            None lets the recipe compute them from `parsed`, as if its own rules had read it.
    """

    parsed: Parsed | None = None
    scores: Mapping[str, float] | None = None


class NoVerdict(PluginStruct, frozen=True):
    """The judge's responses decide nothing; the row is `judge_failed`.

    Attributes:
        reason: Why, in a few words, for the user.
    """

    reason: str


class Leave:
    """The row stays as the rules scored it; use the constant `LEAVE`."""


LEAVE = Leave()

Step = JudgeQuestion | Verdict | NoVerdict | Leave


SYSTEM_PROMPT = "system"
"""Name of the framework's prompt that goes out as a system turn."""


class KitPrompts(PluginStruct, frozen=True):
    """How the prompts of a framework are read from the user's own copy of it (`--judge-prompt CHECKOUT`).

    Attributes:
        kit: Name of the framework.
        read: Folder -> prompts by name, with the judge's slots; nothing is run. Raises Error naming file and function
            where one is not found.
        choose: (row, options of the recipe) -> name of the row's prompt, None where no prompt is needed.
        option: Option of the recipe that brings prompts along; None where none does.
    """

    kit: str
    read: Callable[[Path], Mapping[str, str]] | None = None
    choose: Callable[[Item, Mapping[str, Any]], str | None] = lambda item, options: ""
    option: str | None = None


class Judge(PluginStruct, frozen=True):
    """One protocol of judging, found by file name in `mmscore/judges` as the constant `JUDGE`.

    A recipe names the judges that fit it in `Recipe.judges`; a judge from a user's own file fits any.

    Attributes:
        summary: One line for `mmscore list`.
        parity: `recipe.OWN`, or the framework whose protocol it is. The prompt template of prompts is ours
            unless `kit_prompts` reads the framework's.
        versions: Version -> what it follows, the first is the default; where the recipe has a version
            of the same name, that one is.
        strategies: Strategy -> which rows are asked and what becomes of the verdict. `rule` is not
            among them: every judge has it.
        auto: What `auto` stands for: one of the strategies, or `RULE`.
        columns: Fields of `Item` that `step` reads beside those of the recipe.
        step: (case, responses so far) -> what comes next.
        tries: Most questions that `step` asks about one row, from 1.
        questions: Strategy -> questions that every verdict takes there, where it takes more than one.
        slots: Words that stand in braces in a user's own prompt template (`{question}`); each that is
            required must occur in it.
        required: Those of the slots that a prompt template must hold.
        generation: Options of the chat completion for every question, temperature 0 as a rule.
        takes_labels: Versions that take labels of the user's own.
        takes_pattern: Versions that take a pattern of the user's own.
        kit_prompts: How the framework's own prompts are read; None where the protocol is no framework's.
    """

    summary: str
    parity: str
    versions: Mapping[str, str]
    strategies: Mapping[str, str]
    auto: str
    columns: tuple[str, ...]
    step: Callable[[Case, Sequence[str]], Step]
    tries: int = 1
    slots: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    generation: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"temperature": 0})
    takes_labels: tuple[str, ...] = ()
    takes_pattern: tuple[str, ...] = ()
    questions: Mapping[str, int] = msgspec.field(default_factory=dict)
    kit_prompts: KitPrompts | None = None

    def least(self, strategy: str) -> int:
        """Give the fewest questions that a verdict takes."""
        return self.questions.get(strategy, 1)

    def most(self, strategy: str) -> int:
        """Give the most questions that are asked about one row."""
        return max(self.tries, self.least(strategy))


def fence_text(text: str, name: Literal["answer", "question", "reference"] = "answer") -> str:
    """Set a text between two lines that it cannot imitate: they carry a digest of it.

    Args:
        text: Anything, an answer that tries to end its own quotation included.
        name: What the text is, for the judge to read.

    Returns:
        The text between `<name-digest>` and `</name-digest>`.

    Example:
        >>> fence_text("A cat.").splitlines()
        ['<answer-60a52d10f5e272ea>', 'A cat.', '</answer-60a52d10f5e272ea>']
    """
    mark = f"{name}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"
    return f"<{mark}>\n{text}\n</{mark}>"


def fill_prompt(prompt: str, values: Mapping[str, str]) -> str:
    """Put values into the slots of a prompt template, all at once: a value that holds a slot stays as it is.

    Args:
        prompt: Text with `{name}` where the value of `name` stands; other braces are plain text.
        values: Slot -> value.

    Example:
        >>> fill_prompt("{question} | {pred} | {x}", {"question": "{pred}?", "pred": "A"})
        '{pred}? | A | {x}'
    """
    slots = re.compile("|".join(re.escape(f"{{{name}}}") for name in values))
    return slots.sub(lambda found: values[found[0][1:-1]], prompt)
