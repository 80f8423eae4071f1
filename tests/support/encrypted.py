"""Parquet files that are encrypted, as pyarrow writes them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption


class _Keys(encryption.KmsClient):  # type: ignore[misc]  # pyarrow has no types
    """Keys that are wrapped by nothing."""

    def __init__(self, _: encryption.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _: str) -> str:
        return key_bytes.hex()

    def unwrap_key(self, wrapped_key: str, _: str) -> bytes:
        return bytes.fromhex(wrapped_key)


def write_encrypted(path: Path, table: pa.Table, *, plain_footer: bool) -> None:
    """Write a table with its first column encrypted, and its footer too unless that is to be plain."""
    config = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": table.column_names[:1]}, plaintext_footer=plain_footer
    )
    factory = encryption.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
