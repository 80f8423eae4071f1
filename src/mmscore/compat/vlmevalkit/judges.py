"""What an `evaluate` of the user's calls beside pandas: a judge model, calls side by side, the framework's matching.

Source: open-compass/VLMEvalKit@e8e78f05 vlmeval/dataset/utils/judge_util.py, vlmeval/api/gpt.py,
vlmeval/utils/mp_util.py, vlmeval/utils/matching_util.py.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pybase64

from mmconvert.core.errors import Error, UsageError
from mmconvert.images.loader import MIME_TYPES, ImageLoader
from mmscore.compat.vlmevalkit.tables import dump, load
from mmscore.infer.message_model import IMAGE, Message, ServiceModel
from mmscore.llm.client import Chat, Endpoint, build_chat_url, read_key
from mmscore.parsers.vlmevalkit_option import infer_option as read_letter
from mmscore.parsers.vlmevalkit_option import infer_option_text as read_text
from mmscore.parsers.vlmevalkit_option import vlmevalkit_option

DEBUG_MESSAGE = "The judge does not answer. Set OPENAI_API_KEY, and OPENAI_API_BASE or OPENAI_BASE_URL."
FAIL_MSG = "Failed to obtain answer via API."

_IMAGES = ImageLoader(())
_HELLO = "hello"


class OpenAIWrapper(ServiceModel):
    """A chat model at an OpenAI-compatible API server, asked with messages of the framework.

    The key comes from the environment, OPENAI_API_KEY; the address from `api_base`, OPENAI_API_BASE or
    OPENAI_BASE_URL.
    """

    def __init__(
        self,
        model: str,
        retry: int = 5,
        wait: float = 0.5,
        system_prompt: str | None = None,
        temperature: float = 0,
        timeout: float = 300,
        api_base: str | None = None,
        base_url: str | None = None,
        max_tokens: int = 2048,
        verbose: bool = False,
        **kwargs: Any,
    ) -> None:
        """Name the service; nobody is asked yet.

        Args:
            model: Name of the model there.
            retry: Most calls for one question, from 1.
            wait: Seconds before the first of the calls that follow; doubles.
            system_prompt: The system turn; None for none.
            temperature: Softness of the draw.
            timeout: Patience for one question with all its calls, in seconds.
            api_base: Address of the service.
            base_url: The same, by another name.
            max_tokens: Most tokens of a response.
            verbose: No effect.
            **kwargs: Further fields of each request.

        Raises:
            UsageError: There is no address, or the key is given here.
        """
        if kwargs.pop("key", None):
            raise UsageError("key: put it into the environment, OPENAI_API_KEY.")
        generation = {"temperature": temperature, "max_tokens": max_tokens, **kwargs}
        # The client tries again by itself.
        super().__init__(1, wait, system_prompt, verbose, FAIL_MSG, **generation)
        address = build_chat_url(api_base or base_url or os.environ.get("OPENAI_API_BASE"))
        self._endpoint = Endpoint(address, model, read_key(), tries=retry, total_seconds=timeout, first_wait=wait)

    def working(self) -> bool:
        """Tell whether the service answers."""
        return self.fail_msg not in self.generate(_HELLO)

    def generate_inner(self, message: Any, **kwargs: Any) -> tuple[int, str, str]:  # type: ignore[override]
        """Ask once; gives `(code, answer, log)`."""
        kwargs.pop("dataset", None)
        asked = message if message and "role" in message[0] else [{"role": "user", "content": message}]
        turns = [{"role": turn["role"], "content": _content(turn["content"])} for turn in asked]
        if self.system_prompt is not None:
            turns = [{"role": "system", "content": self.system_prompt}, *turns]
        with Chat(self._endpoint) as chat:
            answer = chat.run(chat.ask(turns, kwargs))
        return (-1, "", answer.error or "") if answer.text is None else (0, answer.text, "")


def _content(message: Message) -> Any:
    if len(message) == 1 and message[0]["type"] != IMAGE:
        return message[0]["value"]
    content: list[dict[str, Any]] = []
    for piece in message:
        url = str(piece["value"])
        if piece["type"] != IMAGE:
            content.append({"type": "text", "text": piece["value"]})
            continue
        if not url.lower().startswith(("http://", "https://")):
            image = _IMAGES.of_bytes(Path(url).read_bytes(), 1)
            url = f"data:{MIME_TYPES[image.format]};base64,{pybase64.b64encode(image.bytes or b'').decode()}"
        content.append({"type": "image_url", "image_url": {"url": url}})
    return content


def build_judge(**kwargs: Any) -> OpenAIWrapper:
    """Open the judge that an `evaluate` is given in `judge_kwargs`.

    Args:
        **kwargs: `model`, and arguments of `OpenAIWrapper`; LOCAL_LLM in the environment goes before `model`.

    Raises:
        UsageError: No model is named, or there is no address.
    """
    model = os.environ.get("LOCAL_LLM") or kwargs.pop("model", None)
    if not model:
        raise UsageError("evaluate needs a judge. Give --judge NAME, and --judge-base-url URL.")
    without = ("model", "nproc", "api_nproc", "use_verifier", "use_vllm")
    return OpenAIWrapper(str(model), **{name: value for name, value in kwargs.items() if name not in without})


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Sequence[Any] = (),
    nproc: int | None = 1,
    save: str | Path | None = None,
    keys: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Call a function for each task, several at once.

    Args:
        func: Called with a mapping as named arguments, with a tuple or list as arguments, else with the task.
        tasks: Arguments of each call.
        nproc: Most calls at once.
        save: File for the results by key, after each call; what stands there stays. None for none.
        keys: A key a task.
        **kwargs: What the framework's own takes beside; no effect.

    Returns:
        Results in order.

    Raises:
        Error: There are not as many keys as tasks.
    """
    if keys is not None and len(keys) != len(tasks):
        raise Error(f"track_progress_rich: {len(tasks)} tasks have {len(keys)} keys. Give each its own.")

    def call(task: Any) -> Any:
        if isinstance(task, Mapping):
            return func(**task)
        return func(*task) if isinstance(task, tuple | list) else func(task)

    found = load(save) if save is not None and Path(save).is_file() else {}
    results = []
    with ThreadPoolExecutor(max_workers=nproc or os.cpu_count() or 1) as threads:
        for number, result in enumerate(threads.map(call, tasks)):
            results.append(result)
            if save is not None and keys is not None:
                found[keys[number]] = result
                dump(found, save)
    return results


def can_infer(answer: Any, choices: Mapping[str, Any]) -> str | bool:
    """Read the option that a response names, by its letter or its text; False where it names none.

    Parity: version v3 of `mmscore.parsers.vlmevalkit_option`.

    Example:
        >>> can_infer("The answer is (B).", {"A": "cat", "B": "dog"}), can_infer("Who knows", {"A": "cat", "B": "dog"})
        ('B', False)
    """
    return vlmevalkit_option(str(answer), _texts(choices)).value or False


def can_infer_option(answer: Any, choices: Mapping[str, Any]) -> str | bool:
    """Read the option whose letter stands in a response; False where none does."""
    return read_letter(str(answer), _texts(choices)).value or False


def can_infer_text(answer: Any, choices: Mapping[str, Any]) -> str | bool:
    """Read the option whose text stands in a response; False where none does."""
    return read_text(str(answer), _texts(choices)).value or False


def _texts(choices: Mapping[str, Any]) -> dict[str, str]:
    return {letter: str(text) for letter, text in choices.items()}
