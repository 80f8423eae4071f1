"""Draw boxes of a field on an image: the grounded tasks of ReForm-Eval.

The outline is the one that ReForm-Eval's drawing library gives, pixel by pixel: `width` 1 is one pixel; a
wider one reaches (width + 1) // 2 pixels to both sides, its corners rounded.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import PIL.Image
import PIL.ImageColor
import PIL.ImageDraw

from mmconvert.core.errors import RowError, UsageError, show
from mmconvert.core.record import Record
from mmconvert.images.boxes import Box, check_layout, read_boxes
from mmconvert.images.canvas import decode_rgb, encode_png, find_shown_image, replace_image
from mmconvert.plugins.transform import Setting, Transform

COLORS = "red,green,blue,gold"
"""Source: FudanDISC/ReForm-Eval@df1cfa7 build/MSCOCO/missing_object_selection_dataset.py:draw_bbox (as CSS names)."""


def draw_boxes(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Draw the boxes that a field of the source holds on one of the record's images.

    Args:
        record: A record whose `extra` has the field.
        parameters: `field`, `layout`, `width`, `colors`, `slot`.
        setting: Checks the new image.

    Yields:
        The record with the drawn image as PNG, the source's own attached.

    Raises:
        RowError: No such image, no such field, a box that is none, or more boxes than colours.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/*/*.py:draw_bbox, for boxes with sides of at least 0.
    """
    image = find_shown_image(record, parameters["slot"])
    boxes = read_boxes(record.extra, parameters["field"], parameters["layout"], (image.width, image.height))
    colors = parameters["colors"].split(",")
    if len(boxes) > len(colors):
        message = f"{len(boxes)} boxes, but {len(colors)} colours. Name more: colors=A,B,..."
        raise RowError("box.count", parameters["field"], message)
    decoded = decode_rgb(image)
    for box, color in zip(boxes, colors, strict=False):
        draw_outline(decoded, box, parameters["width"], PIL.ImageColor.getrgb(color.strip())[:3])
    corners = [[box.left, box.top, box.right, box.bottom] for box in boxes]
    yield replace_image(record, image, encode_png(decoded), setting.images, {"name": setting.name, "boxes": corners})


def draw_outline(decoded: PIL.Image.Image, box: Box, width: int, color: tuple[int, ...]) -> None:
    """Draw the outline of a box in place; what lies beyond the image is left out.

    Args:
        decoded: RGB image.
        box: Corners, both inside the outline.
        width: Thickness in pixels, from 1.
        color: Red, green and blue, 0 to 255.
    """
    reach = 0 if width == 1 else (width + 1) // 2
    left, right = (_clamp_far(x, decoded.width, reach) for x in (box.left, box.right))
    top, bottom = (_clamp_far(y, decoded.height, reach) for y in (box.top, box.bottom))
    draw = PIL.ImageDraw.Draw(decoded)
    for y in (top, bottom):
        draw.rectangle((left, y - reach, right, y + reach), fill=color)
    for x in (left, right):
        draw.rectangle((x - reach, top, x + reach, bottom), fill=color)
    for dy, half in enumerate(compute_disc(reach)):
        for x in (left, right):
            for y in (top, bottom):
                draw.line((x - half, y - dy, x + half, y - dy), fill=color)
                draw.line((x - half, y + dy, x + half, y + dy), fill=color)


def compute_disc(radius: int) -> list[int]:
    """Give the half widths of a filled circle, row by row from its centre, by the midpoint rule.

    Example:
        >>> compute_disc(0), compute_disc(2), compute_disc(3)
        ([0], [2, 1, 0], [3, 2, 2, 0])
    """
    halves = [0] * (radius + 1)
    dx, dy, error = radius, 0, 0
    while dx >= dy:
        halves[dy] = max(halves[dy], dx)
        halves[dx] = max(halves[dx], dy)
        error += 2 * dy + 1
        dy += 1
        if error > 0:
            error -= 2 * dx - 1
            dx -= 1
    return halves


def _clamp_far(value: int, size: int, reach: int) -> int:
    """Bring a coordinate far outside near the edge, where it shows as little."""
    return min(max(value, -reach - 1), size + reach)


def _check(parameters: Mapping[str, Any]) -> None:
    check_layout(parameters["layout"])
    if not 1 <= parameters["width"] <= 100:
        raise UsageError(f"draw_boxes: width must be 1 to 100 {show(parameters['width'])}.")
    for color in parameters["colors"].split(","):
        try:
            PIL.ImageColor.getrgb(color.strip())
        except ValueError:
            raise UsageError(f"draw_boxes: no colour is called {color!r}. Give CSS names or #rrggbb.") from None


TRANSFORM = Transform(
    summary="Draw the boxes of a field on an image (ReForm-Eval's grounded tasks)",
    apply=draw_boxes,
    parameters={"field": "bbox", "layout": "xywh", "width": 3, "colors": COLORS, "slot": 1},
    check=_check,
)
