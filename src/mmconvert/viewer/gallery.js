"use strict";
/* Items as cards: images, every turn with its role, and the values of the columns. */
{
  const { el, text } = mm;
  const MAX_IMAGES = 4;
  const MAX_TURN = 600; // characters of a turn that a card shows
  const short = (value) => (value.length > MAX_TURN ? `${value.slice(0, MAX_TURN)}…` : value);

  const plain = (part, images) => {
    if (typeof part === "number") return images[part]?.[4] ? `<image ${images[part][4]}>` : "[image]";
    if (typeof part === "string") return part;
    return (part.pieces ?? []).map((piece) => (typeof piece === "string" ? piece : typeof piece === "number" ? " … " : piece[0])).join("");
  };

  const showImages = (images) => {
    const having = images.filter(([number]) => number !== null);
    if (!having.length) return null;
    const more = having.length - MAX_IMAGES;
    return el("div", { class: "card-images" },
      having.slice(0, MAX_IMAGES).map(([number, facts]) => el("img", { src: mm.image(number), alt: facts, decoding: "async" })),
      more > 0 ? el("span", { class: "count" }, `+${mm.number(more)}`) : null);
  };

  const turn = ([role, parts], images) =>
    el("div", { class: "turn" }, text(el("b", {}), role),
      text(el("span", { dir: "auto" }), short(parts.map((part) => plain(part, images)).join("")) || "empty"));

  /** Make the card of an item. */
  mm.galleryCard = (item, columns, focusable) => {
    const { messages, images } = mm.details(item);
    const [first, ...rest] = columns;
    const hasTurns = messages.length > 0;
    const values = rest.filter((column) => ![null, undefined, ""].includes(item.cells[column.name]) && !(hasTurns && column.kind === "long" && column === rest[0]));
    const tone = (column) => (Object.hasOwn(column.tones, item.cells[column.name]) ? `tag ${column.tones[item.cells[column.name]]}` : null);
    const shown = (value) => (typeof value === "number" ? mm.number(value) : String(value));
    const card = el("li", { class: "entry tile", tabindex: focusable ? 0 : -1, "aria-current": item.id === mm.state.item ? "true" : null },
      showImages(images),
      text(el("h3", { dir: "auto" }), String(item.cells[first.name] ?? item.id)),
      messages.map((one) => turn(one, images)),
      values.length ? el("dl", {}, values.map((column) =>
        el("div", {}, text(el("dt", {}), column.label), el("dd", {}, text(el("bdi", { class: tone(column) }), shown(item.cells[column.name])))))) : null);
    card.item = item;
    return card;
  };
}
