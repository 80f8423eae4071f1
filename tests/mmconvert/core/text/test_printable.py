"""What data and errors say is shown, and never obeyed by a terminal."""

from mmconvert.core.text.printable import printable


def test_data_cannot_drive_the_terminal() -> None:
    assert printable("a\x1b]0;x\x07\u202eb\r\n\tc\ud800é") == "a\\x1b]0;x\\x07\\u202eb\\r\n\tc\\ud800é"
