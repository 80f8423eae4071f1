"""Fixtures of an object store: a real S3-compatible server on the loopback interface."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def store_server() -> Iterator[str]:
    """A server of the S3 protocol on this machine, without buckets; its address."""
    pytest.importorskip("s3fs", reason="needs s3fs and moto, of the development extra")
    from functools import cache

    import botocore.loaders
    from moto.server import ThreadedMotoServer

    # Each client of the store would read the description of the service anew, for half a second.
    read = cache(botocore.loaders.JSONFileLoader().load_file)
    botocore.loaders.JSONFileLoader.load_file = lambda _, path: read(path)
    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"http://{host}:{port}"
    made.stop()


@pytest.fixture
def bucket(store_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """An empty bucket, and the environment that leads to it."""
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", store_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    store = s3fs.S3FileSystem(use_listings_cache=False)
    store.mkdir("bucket")
    yield store
    store.rm("bucket", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()
