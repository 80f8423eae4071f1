"use strict";
/* One open item: its messages with images, then fields and facts. */
{
  const { el, text } = mm;

  const imageLink = (label, image, images) => {
    const jump = el("button", { type: "button", class: "placeholder", title: images[image]?.[1] ?? "" });
    const number = images[image]?.[0];
    if (number !== null && number !== undefined) jump.append(el("img", { src: mm.image(number), alt: "" }));
    jump.addEventListener("click", () => {
      const figure = document.getElementById(`image-${image}`);
      figure?.scrollIntoView({ block: "center", behavior: "smooth" });
      figure?.classList.remove("called");
      requestAnimationFrame(() => figure?.classList.add("called"));
    });
    return text(jump, label);
  };

  const piece = (into, one, images) => {
    if (typeof one === "string") text(into, one);
    else if (typeof one === "number")
      into.append(el("span", { class: "left-out" }, `${mm.number(one)} characters left out`));
    else if (one[2] !== null) into.append(imageLink(one[0], one[2], images));
    else into.append(text(el("mark", { title: one[1] || null }), one[0]));
  };

  /** Put a text of an item into an element: a plain one, or one with pieces, name and tone. */
  mm.shownText = (shown, images = []) => {
    const value = typeof shown === "string" ? { pieces: [shown] } : shown;
    const into = el("div", { class: `text ${value.tone ?? ""}`, dir: "auto" });
    for (const one of value.pieces ?? []) piece(into, one, images);
    if (!into.hasChildNodes()) into.append(el("span", { class: "nothing" }, "empty"));
    if (!value.name) return into;
    return el("div", { class: `named ${value.tone ?? ""}` }, text(el("span", { class: "name" }), value.name), into);
  };

  const zoom = ({ currentTarget: button }) =>
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") === "false"));

  const figure = (number, images) => {
    const [thumbnail, facts, name, note, slot] = images[number];
    const called = slot === null ? `Image ${number + 1}` : `<image ${slot}>`;
    const shown =
      thumbnail === null
        ? text(el("div", { class: "no-image" }), note)
        : el("button", { type: "button", class: "zoom", "aria-expanded": "false", onclick: zoom },
            el("img", { src: mm.image(thumbnail), alt: `${called}, ${facts}`, decoding: "async" }));
    const caption = el("figcaption", {}, el("b", {}, called), ` ${facts}`);
    if (name) caption.append(text(el("span", { class: "path", dir: "ltr" }), name));
    return el("figure", { id: `image-${number}` }, shown, caption);
  };

  const message = ([role, parts], images) => {
    const body = el("div", { class: "body" });
    let row = null;
    for (const part of parts) {
      if (typeof part === "number") {
        // Images that follow each other stand side by side.
        if (!row) body.append((row = el("div", { class: "images" })));
        row.append(figure(part, images));
      } else {
        const shown = mm.shownText(part, images);
        // An image ends its line: the line break behind it would be seen as an empty line.
        if (row && shown.firstChild.nodeType === Node.TEXT_NODE && /^\n[^]/.test(shown.firstChild.data)) shown.firstChild.data = shown.firstChild.data.slice(1);
        row = null;
        body.append(shown);
      }
    }
    if (!parts.length) body.append(el("span", { class: "nothing" }, "empty"));
    return el("li", { class: "message" }, text(el("h4", {}), role), body);
  };

  const field = ([label, texts], images) =>
    el(
      "section",
      { class: "field" },
      text(el("h3", {}), label),
      texts.length ? texts.map((one) => mm.shownText(one, images)) : el("span", { class: "nothing" }, "none"),
    );

  /** Fill the panel with an item. */
  mm.showItem = (panel, item, buttons) => {
    const { messages, images, fields, facts, others } = mm.details(item);
    const tags = mm.page.filters
      .filter((filter) => filter.kind === "mark" && item.marks.has(filter.name))
      .map((filter) => text(el("span", { class: `tag ${filter.tone}` }), filter.label));
    const content = [
      el("div", { class: "bar" }, text(el("h2", { tabindex: -1, dir: "auto" }), item.id), tags, buttons),
    ];
    if (messages.length)
      content.push(
        el("h3", {}, messages.length > 1 ? `Messages, ${messages.length} turns` : "Message"),
        el("ol", { class: "messages" }, messages.map((one) => message(one, images))),
      );
    if (others.length)
      content.push(
        el("section", { class: "field" }, el("h3", {}, messages.length ? "Images that the prompt does not show" : "Images"),
          el("div", { class: "images" }, others.map((number) => figure(number, images)))),
      );
    content.push(...fields.map((one) => field(one, images)));
    if (facts.length)
      content.push(
        el("dl", { class: "small" }, facts.map(([label, value]) =>
          el("div", {}, text(el("dt", {}), label), text(el("dd", { dir: "auto" }), value)))),
      );
    panel.replaceChildren(...content);
    panel.scrollTop = 0;
  };
}
