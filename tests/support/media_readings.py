"""Readings that put a video or a sound beside the fields of every row."""

from msgspec.structs import replace

from mmconvert.core.rows import Row

NAMES = ("video", "videos", "video_1", "VIDEO_PATH", "audio", "audios", "audio_2", "audio_urls")


def _adding(name):
    def read(path, rows):
        for row in rows:
            yield replace(row, fields={**row.fields, name: "clip.mp4"}) if isinstance(row, Row) else row

    return read


globals().update({name: _adding(name) for name in NAMES})
