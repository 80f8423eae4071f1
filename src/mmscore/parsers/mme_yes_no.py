"""Read yes or no as MME's own tool does: within the first four characters of the response."""

from msgspec.structs import replace

from mmscore.core.parsed import Parsed
from mmscore.nlp.yes_no import parse_yes_no_start


def mme_yes_no(text: str) -> Parsed:
    """Find `yes`, else `no`, within the first four characters, case ignored; nothing is stripped.

    Args:
        text: The model's response.

    Returns:
        `yes` or `no`; `UNPARSED`, the tool's "other", for neither.

    Parity: BradyFU/Awesome-Multimodal-Large-Language-Models tools/eval_tool/calculation.py:parse_pred_ans.

    Example:
        >>> mme_yes_no("Yes, it is.").value, mme_yes_no("Not sure").value, mme_yes_no("  yes").how
        ('yes', 'no', 'unparsed')
    """
    lowered = text.lower()
    parsed = parse_yes_no_start(lowered)
    return parsed if len(lowered) == len(text) else replace(parsed, span=None)


PARSER = mme_yes_no
