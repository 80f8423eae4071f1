"""The page of the live view: markup without data, its own scripts named by their hashes."""

from functools import cache
from importlib.resources import files
from string import Template

from mmconvert._version import __version__
from mmconvert.viewer.page import build_script_policy

_VIEWER, _HERE = files("mmconvert.viewer"), files("mmscore.reporting.live")
_SCRIPTS = (_VIEWER / "text.js", _VIEWER / "fit.js", _HERE / "live.js")
_STYLES = (_VIEWER / "viewer.css", _HERE / "live.css")


@cache
def build_live_page() -> tuple[bytes, str]:
    """Give the page and its content security policy."""
    scripts = [one.read_text("utf-8") for one in _SCRIPTS]
    policy = f"{build_script_policy(scripts)}; connect-src 'self'; frame-ancestors 'none'"
    page = Template((_HERE / "live.html").read_text("utf-8")).substitute(
        styles="\n".join(one.read_text("utf-8") for one in _STYLES),
        scripts="\n".join(f"<script>{text}</script>" for text in scripts),
        version=__version__,
    )
    return page.encode(), policy
