"""Headings under which `--help` lists options: one table for both programs, for an option has one meaning in both."""

import click

HEADINGS: dict[str, tuple[str, ...]] = {
    "Input": (
        "format", "map", "answers", "allow_mismatch", "split", "config_name", "subset", "benchmark", "dataset", "task",
        "limit", "where", "sample", "samples", "exhausted", "split_ratio", "group_by", "max_rows", "read_as",
         "md5", "sha256", "import", "files_only", "train",
        "processor", "context", "loss",
        "with", "fingerprints",
    ),
    "Images and video": (
        "image_root", "keep_urls", "allow_remote", "allow_host", "per_host", "verify", "max_image_mb", "max_image_side",
        "frames", "fps", "frame_format",
    ),
    "Prompts and transforms": ("prompt", "prompt_suffix", "transform", "seed", "view"),
    "Model": (
        "model", "backend", "method", "likelihood_reduction", "system", "template", "continue_final_message",
        "no_interleave", "protocol", "batch_size", "dtype", "attn", "compile",
    ),
    "Sampling": ("max_new_tokens", "temperature", "do_sample", "top_p", "top_k", "num_beams", "n", "stop",
                 "output_scores"),
    "Server": ("port", "base_url", "serve", "api_key_env", "concurrency", "timeout", "extra_body", "json_schema"),
    "Budget": ("max_calls", "max_total_tokens", "price", "max_cost"),
    "Scoring": ("recipe", "also", "recipe_options", "by", "average", "all", "score", "metric", "resamples", "keep",
                "min_gap", "right_from"),
    "Judge": (
        "judge", "judge_model", "judge_base_url", "judge_strategy", "judge_concurrency", "judge_batch",
        "judge_prompt", "judge_system", "judge_generation", "judge_repeats", "judge_aggregation", "judge_min_valid",
        "judge_score_mapping", "judge_score_pattern", "judge_max_calls", "judge_max_total_tokens", "prices",
        "judge_cache", "rejudge",
    ),
    "Comparison": ("near", "exact", "distance", "similarity", "min_words"),
    "Output": (
        "output", "output_split",
        "title", "work_dir", "init", "to", "columns", "csv", "markdown", "html", "html_rows", "html_pictures",
        "rows", "log", "log_project", "no_browser", "images", "image_dir", "csv_safe", "drop", "append", "overwrite",
        "license", "source",
    ),
    "Errors": ("on_bad", "rejects", "max_failed", "allow_rejects", "allow_empty"),
    "Resume and parallelism": ("resume", "restart", "workers", "processes", "share", "shard", "engine"),
    "Hub": ("push", "private", "revision", "create_pr", "model_card", "eval_results", "eval_yaml"),
    "General": ("dry_run", "json", "verbose", "quiet", "options", "version", "help"),
}  # fmt: skip
"""Heading -> the options below it, by their flags without hyphens, in their order."""

_ELSEWHERE = {
    ("compare", "seed"): "Scoring",
    ("pairs", "split"): "Output",
    ("pairs", "api_key_env"): "Judge",
    ("mix", "seed"): "Input",
    ("mix", "temperature"): "Input",
    ("split", "seed"): "Input",
    ("predict", "seed"): "Sampling",
    ("dedupe", "by"): "Comparison",
    ("preview", "rows"): "Input",
    ("open", "rows"): "Input",
    ("push", "license"): "Hub",
    ("push", "source"): "Hub",
    ("rank", "method"): "Input",
    ("rank", "model"): "Input",
    ("score", "model"): "Input",
    ("judge", "api_key_env"): "Judge",
    ("score", "api_key_env"): "Judge",
    ("compare", "api_key_env"): "Judge",
}
"""Command and option -> its heading, where the same word is about something else there."""

_FOUND = {name: heading for heading, names in HEADINGS.items() for name in names}
_PLACES = {name: place for names in HEADINGS.values() for place, name in enumerate(names)}


def find_heading(command: str, option: str) -> str:
    """Name the heading of an option.

    Raises:
        KeyError: The option stands below no heading; add it to `HEADINGS`.
    """
    return _ELSEWHERE.get((command, option)) or _FOUND[option]


def name_option(option: click.Option) -> str:
    """Give the name that `HEADINGS` has for an option: its longest flag, with underscores."""
    return max(option.opts, key=len).lstrip("-").replace("-", "_")


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading."""
        found: dict[str, list[tuple[int, tuple[str, str]]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                name = name_option(param)
                found[find_heading(str(self.name), name)].append((_PLACES[name], record))
        for heading, records in found.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl([record for _, record in sorted(records, key=lambda one: one[0])])
