"""What data and errors say is shown, and never obeyed by a terminal."""

from mmconvert.core.text.printable import escape_control


def test_data_cannot_drive_the_terminal() -> None:
    assert escape_control("a\x1b]0;x\x07\u202eb\r\n\tc\ud800é") == "a\\x1b]0;x\\x07\\u202eb\\r\n\tc\\ud800é"
