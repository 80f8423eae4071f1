"""The options of a judge, for every command that has one."""

from mmconvert.console.options import add_struct_options
from mmconvert.core.progress import print_message
from mmscore.scoring.judging.request import JudgeOptions, JudgeRequest

_NAMES = ("judge", "judge_model", "api_key_env", "judge_strategy", "judge_aggregation")
_NUMBERS = ("judge_concurrency", "judge_repeats", "judge_min_valid", "judge_max_calls", "judge_max_total_tokens")
_FILES = ("judge_prompt", "judge_cache")
judge_options = add_struct_options(
    JudgeOptions,
    {
        "judge_base_url": {"metavar": "URL"},
        "judge_generation": {"metavar": "JSON"},
        "judge_score_mapping": {"metavar": "JSON"},
        "judge_score_pattern": {"metavar": "REGEX"},
        **{name: {"metavar": "NAME"} for name in _NAMES},
        **{name: {"metavar": "N"} for name in _NUMBERS},
        **{name: {"metavar": "FILE"} for name in _FILES},
    },
    into="judge",
)
"""Decorator that gives a command the options of a judge, as `JudgeOptions` in `judge`."""


def request_of(judge: JudgeOptions, *, quiet: bool) -> JudgeRequest | None:
    """Say who is asked; what it took is told unless quiet."""
    return judge.build_request() if quiet else judge.build_request(lambda spent: print_message(f"mmscore: {spent}"))
