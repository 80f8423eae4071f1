"""What may go wrong between this machine and the Hugging Face Hub: what passes is waited for, the rest is explained."""

import contextlib
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from mmconvert.core.errors import Error
from mmconvert.core.retries import RetryPolicy, may_pass, parse_retry_after

if TYPE_CHECKING:  # the Hub's client and its transport take time to load, and most datasets lie on a disk
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

RETRIES = RetryPolicy(tries=5, first_wait=1.0, longest_pause=300.0)
"""The Hub counts requests in windows of five minutes: nobody is told to wait longer."""

_RACED = 412
"""The Hub's status for a commit that another one came before."""
_UNDONE = (409, 412, 429, 503)
"""Those that say that nothing was done; after the others, and after none, it may have been."""
_T = TypeVar("_T")


def load_hub_transport() -> ModuleType:
    """Import the HTTP client whose errors the Hub's client raises: httpx2, or httpx before huggingface_hub 2.0."""
    from huggingface_hub.errors import HfHubHTTPError

    return import_module(HfHubHTTPError.__bases__[0].__module__)


def retry(action: Callable[[], _T], *, once: str | None = None) -> _T:
    """Do it again after a failure that passes by itself; what has arrived is not sent again.

    Args:
        action: May be done more than once.
        once: Part of the address of a request that is only sent again where the Hub has said that nothing was
            done; None where all may be.

    Raises:
        HfHubHTTPError: The Hub refuses, or still fails.
        TransportError: It cannot be reached.
    """
    from huggingface_hub.errors import HfHubHTTPError

    client = load_hub_transport()
    for sent in range(1, RETRIES.tries):
        wait = RETRIES.compute_wait(sent)
        try:
            return _unwrap_error(action)
        except HfHubHTTPError as error:
            status = error.response.status_code
            if not (status in _UNDONE if _is_for(error, once) else _is_transient(status)):
                raise
            wait = max(wait, _read_pause(error))
        except client.ConnectError:
            raise
        except client.TransportError as error:
            if _is_for(error, once):
                raise
        time.sleep(wait)
    return _unwrap_error(action)


def _unwrap_error(action: Callable[[], _T]) -> _T:
    """Raise what broke an upload off; the Hub's client hides it behind an error of its own."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return action()
    except RuntimeError as error:
        if isinstance(error.__cause__, (HfHubHTTPError, load_hub_transport().TransportError)):
            raise error.__cause__ from None
        raise


def _is_for(error: "HfHubHTTPError | httpx2.TransportError", part: str | None) -> bool:
    asked = getattr(error, "response", error).request
    return part is not None and part in asked.url.path


def _read_pause(error: "HfHubHTTPError") -> float:
    """Give the seconds that the Hub wants a client to wait."""
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]  # in no __all__

    headers = error.response.headers
    limit = parse_ratelimit_headers(headers)
    seconds = limit.reset_in_seconds if limit else parse_retry_after(headers.get("Retry-After") or "") or 0.0
    return min(seconds, RETRIES.longest_pause)


def _is_transient(status: int) -> bool:
    return status == _RACED or may_pass(status)


@contextlib.contextmanager
def explain_errors(repo_id: str) -> Iterator[None]:
    """Say in a sentence why the Hub did not publish, and what to do.

    Args:
        repo_id: `USER/REPO`.

    Raises:
        Error: In the place of every error of the Hub's client.
    """
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        said = f": {error.server_message}" if error.server_message else ""
        raise Error(f"{repo_id}: the Hub answered {status}{said}. {_build_advice(status, repo_id)}") from None
    except OfflineModeIsEnabled:
        raise Error(f"{repo_id}: HF_HUB_OFFLINE is set. Unset it to publish.") from None
    except (load_hub_transport().TransportError, ConnectionError, TimeoutError) as error:
        said = str(error) or type(error).__name__
        message = f"{repo_id}: the Hub cannot be reached ({said}). Push again; what arrived is not sent again."
        raise Error(message) from None


def _build_advice(status: int, repo_id: str) -> str:
    owner = repo_id.partition("/")[0]
    match status:
        case 401:
            return "Set HF_TOKEN to a token that may write, or run `hf auth login`."
        case 403:
            return f"The token may not write there: take one with write access to {owner}, or try --create-pr."
        case 404:
            return "Check USER/REPO and --revision; a private repository is not seen without its owner's token."
        case 409 | 412:
            return "Somebody else is changing the repository. Push again."
        case _ if _is_transient(status):
            return "Push again later; what arrived is not sent again."
    return "Nothing was changed."
