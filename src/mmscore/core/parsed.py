"""What a parser found in a model's response, by which rule, and where."""

from mmconvert.core.plugin_struct import PluginStruct


class Parsed(PluginStruct, frozen=True):
    """One answer read out of one text.

    Attributes:
        value: The answer in the parser's own alphabet (a letter, several sorted letters, a word);
            None when no rule fired.
        how: The rule that fired, in words ("boxed", "option text"); "unparsed" when none did.
        span: Start and end of the answer in the text, in characters; None when the rule has no
            single place (a refusal phrase, a text that changes length when lower-cased).
    """

    value: str | None
    how: str
    span: tuple[int, int] | None = None


UNPARSED = Parsed(None, "unparsed")
"""The one result for "no rule fired"."""
