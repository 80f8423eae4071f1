"""The releases of EvalScope that are told apart."""

from typing import get_args

from mmconvert.kits.evalscope.release import Release

RELEASES: tuple[Release, ...] = get_args(Release)
