"""Xet's storage in a folder, as the Hub's client keeps it where it is told `local://`; files are found by their sha256.

The client splits files into chunks and writes them as xorbs; shards say which chunks make which file. The layout of a
shard is that of huggingface/xet-core (xet_core_structures, metadata_shard).
"""

import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hf_xet

_ENTRY = 48
_VERIFIED, _DESCRIBED = 1 << 31, 1 << 30
"""Flags of a file in a shard: an entry of checksums for each part, and one with the sha256 of the whole."""


@dataclass(frozen=True)
class XetStore:
    folder: Path

    @property
    def url(self) -> str:
        return f"local://{self.folder}"

    def list_xorbs(self) -> list[Path]:
        """List the files that hold chunks."""
        return [path for path in self.folder.rglob("xorbs/xorbs/*") if path.suffix != ".tagset"]

    def find(self, sha256: str) -> bytes | None:
        """Put a file together out of its chunks."""
        for shard in self.folder.rglob("xorbs/shards/*.mdb"):
            for hashed, size, digest in list_files(shard.read_bytes()):
                if digest == sha256:
                    return self._assemble(hashed, size)
        return None

    def _assemble(self, hashed: str, size: int) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            with hf_xet.XetSession().new_file_download_group(endpoint=self.url) as group:
                group.start_download_file(hf_xet.XetFileInfo(hashed, size), f"{folder}/file")
            return Path(folder, "file").read_bytes()


def list_files(shard: bytes) -> Iterator[tuple[str, int, str | None]]:
    """List the files of a shard: their hash, size and sha256."""
    at = _ENTRY
    while (hashed := shard[at : at + 32]) != b"\xff" * 32:
        flags, parts = struct.unpack_from("<II", shard, at + 32)
        sizes = [struct.unpack_from("<I", shard, at + _ENTRY * (part + 1) + 36)[0] for part in range(parts)]
        at += _ENTRY * (1 + parts + (parts if flags & _VERIFIED else 0))
        digest = _format_hash(shard[at : at + 32]) if flags & _DESCRIBED else None
        at += _ENTRY if flags & _DESCRIBED else 0
        yield _format_hash(hashed), sum(sizes), digest


def _format_hash(raw: bytes) -> str:
    """Write a hash as Xet does, by words of eight bytes, the lowest byte last."""
    return "".join(f"{word:016x}" for word in struct.unpack("<4Q", raw))
