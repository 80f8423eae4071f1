"""Our quiz files: JSON Lines with key, ask, picture and reply."""

from mmconvert.chat.export_images import store_image
from mmconvert.chat.losses import list_losses
from mmconvert.core.errors import RowError, in_field, show
from mmconvert.core.record import Part, Record, Turn, encode_json
from mmconvert.io import jsonl
from mmconvert.io.columns import keep_extra_fields
from mmconvert.io.write_delimited import write_jsonl
from mmconvert.plugins.format import IMAGES, Format, Loss

FIELDS = ("key", "ask", "picture", "reply")


def rows(path, span):
    return jsonl.rows(path, span)


def records(row, context):
    fields = dict(row.fields)
    key, ask, picture, reply = (text(name, fields.pop(name, None)) for name in FIELDS)
    with in_field("picture"):
        image = context.images.of_reference(picture, 1)
    yield Record(
        id=key,
        sample=key,
        messages=(Turn("user", (Part("image"), Part("text", ask))),),
        task=context.task or "vqa",
        source=context.source(row),
        images=(image,),
        question=ask,
        answer=reply,
        answers=(reply,),
        label=encode_json(reply),
        dataset=context.dataset,
        subset=context.subset,
        extra=keep_extra_fields(fields),
    )


def text(name, value):
    if not isinstance(value, str) or not value:
        raise RowError(f"{name}.missing", name, f"expected a text {show(value)}.")
    return value


def mismatch(sample):
    return next((f"no field {name!r}" for name in FIELDS if name not in sample.columns), None)


def write(records, target):
    losses = []
    write_jsonl(written(records, target, losses), target.path)
    yield from losses


def written(records, target, losses):
    for record in records:
        if len(record.messages) != 1 or len(record.images) != 1 or not record.question or not record.answer:
            losses.append(
                Loss(record.id, "messages", "a quiz asks one question about one picture; the row is left out")
            )
            continue
        losses.extend(list_losses(record, (), target))
        if len(record.answers) > 1:
            losses.append(Loss(record.id, "answers", "a quiz has one reply"))
        picture = store_image(record.images[0], target)
        yield {**record.extra, "key": record.id, "ask": record.question, "picture": picture, "reply": record.answer}


FORMAT = Format(
    summary="Our quiz files",
    suffixes=(".jsonl",),
    rows=rows,
    records=records,
    mismatch=mismatch,
    write=write,
    images=IMAGES,
    cuttable=True,
)
