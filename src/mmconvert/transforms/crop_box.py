"""Cut an image down to the box of a field: TextOCR in ReForm-Eval."""

from collections.abc import Iterator, Mapping
from typing import Any

from mmconvert.core.errors import RowError
from mmconvert.core.record import Record
from mmconvert.images.boxes import check_layout, read_boxes
from mmconvert.images.canvas import check_pixels, decode_rgb, encode_png, find_shown_image, replace_image
from mmconvert.plugins.transform import Setting, Transform


def crop_box(record: Record, parameters: Mapping[str, Any], setting: Setting) -> Iterator[Record]:
    """Show of one image the part inside a box only.

    Args:
        record: A record whose `extra` has the field.
        parameters: `field`, `layout`, `slot`.
        setting: Checks the new image.

    Yields:
        The record with the part as PNG, the source's own image attached. Where the box reaches beyond the
        image, the part is black.

    Raises:
        RowError: No such image, no such field, several boxes, or one without a pixel.

    Parity: FudanDISC/ReForm-Eval@df1cfa7 build/textOCR/ocr_dataset.py:crop_bbox.
    """
    image, field = find_shown_image(record, parameters["slot"]), parameters["field"]
    boxes = read_boxes(record.extra, field, parameters["layout"], (image.width, image.height))
    if len(boxes) > 1:
        raise RowError("box.count", field, f"an image is cut to one box, not to {len(boxes)}.")
    corners = (boxes[0].left, boxes[0].top, boxes[0].right, boxes[0].bottom)
    width, height = corners[2] - corners[0], corners[3] - corners[1]
    if not width or not height:
        raise RowError("box.empty", field, f"the box holds no pixel: it is {width} x {height}.")
    check_pixels(width, height)
    data = encode_png(decode_rgb(image).crop(corners))
    yield replace_image(record, image, data, setting.images, {"name": setting.name, "boxes": [list(corners)]})


TRANSFORM = Transform(
    summary="Cut an image down to the box of a field (TextOCR in ReForm-Eval)",
    apply=crop_box,
    parameters={"field": "bbox", "layout": "xywh", "slot": 1},
    check=lambda parameters: check_layout(parameters["layout"]),
)
