"""Parquet files of a dataset on the Hugging Face Hub, fetched once into the client's cache."""

from pathlib import Path

import httpx2
from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from mmconvert import __version__
from mmconvert.errors import Error, UsageError, first_line

FILES = "*.parquet"


def fetched(repo_id: str, revision: str | None = None) -> Path:
    """Give the folder of a dataset's parquet files; what the cache has is not fetched again.

    Args:
        repo_id: `USER/REPO`. The token is that of the environment or of `hf auth login`.
        revision: Branch, tag or commit; None for main.

    Returns:
        A folder of the client's cache, to be read and not to be changed.

    Raises:
        UsageError: There is no such dataset or revision, or it has no parquet file.
        Error: The Hub cannot be reached, or refuses.
    """
    try:
        folder = Path(
            snapshot_download(
                repo_id,
                repo_type="dataset",
                revision=revision,
                allow_patterns=FILES,
                library_name="mmscore",
                library_version=__version__,
            )
        )
    except (RepositoryNotFoundError, HFValidationError):
        raise UsageError(
            f"{repo_id}: no such file or folder, and no dataset of this name on the Hub that the token may see. "
            "Check the name, or set HF_TOKEN."
        ) from None
    except RevisionNotFoundError:
        raise UsageError(f"{repo_id}: the dataset on the Hub has no revision {revision!r}. Check the name.") from None
    except HfHubHTTPError as error:
        said = error.server_message or first_line(error)
        raise Error(f"{repo_id}: the Hub answered {error.response.status_code}: {said}. Try again later.") from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, httpx2.TransportError, OSError) as error:
        raise Error(
            f"{repo_id}: no such file or folder, and the Hub cannot be asked ({first_line(error)}). "
            "Check the path, or the network and HF_HUB_OFFLINE."
        ) from None
    if not any(folder.rglob(FILES)):
        raise UsageError(
            f"{repo_id}: the dataset on the Hub holds no parquet file. Name one that mmscore or mmconvert wrote."
        )
    return folder
