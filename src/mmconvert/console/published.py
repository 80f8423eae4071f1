"""What both programs say of a push."""

from mmconvert.console.summary import format_command
from mmconvert.dataset.publish import Pushed


def format_published(done: Pushed) -> str:
    """Say in a few lines what `publish` did."""
    warnings = [f"warning: {warning}" for warning in done["warnings"]]
    if not done["dry_run"]:
        removed = f", {len(done['removed'])} old files removed" if done["removed"] else ""
        counts = f"{done['rows']:,} rows, {len(done['files'])} files, {done['bytes']:,} bytes{removed}"
        return "\n".join([f"{done['url']}: {counts}", *warnings])
    lines = [f"{size:>15,}  {file}" for file, size in done["files"].items()]
    counts = f"{len(done['files'])} files, {done['rows']:,} rows for {done['repo']}"
    total = f"{done['bytes']:>15,}  {counts}; nothing was sent"
    kept = [f"{limit['found']:>15,}  of {limit['most']:,} {limit['name']}" for limit in done["limits"]]
    return "\n".join([*lines, total, "The Hub's limits, for this push alone:", *kept, *warnings])


def list_published_places(done: Pushed, again: str) -> dict[str, str | None]:
    """Say how what `publish` sent is used; of a dry run which command sends it."""
    if done["dry_run"]:
        return {"next": again}
    if done["url"] and "/discussions/" in done["url"]:
        return {"next": f"merge the pull request: {done['url']}"}
    use = format_command("mmscore", "predict", done["repo"], "-o", "predictions.parquet", "--model", "MODEL")
    return {"dataset": f"load_dataset({done['repo']!r})", "next": use}
