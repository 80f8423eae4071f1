"""The batch API of a server that goes away: before anything was said, and in the middle."""

import contextlib

import pytest

from mmconvert.core.errors import Error
from mmscore.llm.batch_server import BatchServer
from mmscore.llm.client import Chat, Endpoint, build_chat_url
from support.batch_server import batch_server
from support.chat_server import Said, find_closed_port, said


def open_chat(url: str, key: str = "") -> Chat:
    return Chat(Endpoint(build_chat_url(url), "loopback", key, first_wait=0.001))


def test_a_server_that_was_never_there_is_said_to_be_out_of_reach() -> None:
    with (
        open_chat(f"http://127.0.0.1:{find_closed_port()}/v1") as chat,
        pytest.raises(Error, match=r"cannot be reached \(Connection refused\)"),
    ):
        chat.run(BatchServer(chat).look("batch_0"))


def test_a_server_that_went_away_is_said_to_have_what_was_sent() -> None:
    with contextlib.ExitStack() as until_gone:
        created = Said(b'{"id": "batch_0", "status": "validating"}', headers={"Connection": "close"})
        server = until_gone.enter_context(batch_server(lambda request: said("1"), answer_to_create=[created]))
        with open_chat(server.url) as chat:
            batches = BatchServer(chat)
            assert chat.run(batches.create("file-0")).id == "batch_0"
            until_gone.close()
            with pytest.raises(Error, match=r"cannot be used \(ConnectError: .* what was sent is fetched then"):
                chat.run(batches.look("batch_0"))


def test_a_key_in_a_response_that_is_no_batch_is_not_shown() -> None:
    strange = Said(b"what is sk-never-shown?")
    with (
        batch_server(lambda request: said("1"), answer_to_create=[strange]) as server,
        open_chat(server.url, "sk-never-shown") as chat,
        pytest.raises(Error, match=r"answers with no batch \(got 'what is \*\*\*\?'\)"),
    ):
        chat.run(BatchServer(chat).create("file-0"))
