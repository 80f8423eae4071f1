"use strict";
/* Elements and texts. Every text of the data comes in through mm.text, never as markup. */
const mm = (window.mm = {});
{
  const SHORT = new Map([
    [0x00ad, ["SHY", "soft hyphen"]], [0x061c, ["ALM", "Arabic letter mark"]], [0x180e, ["MVS", "vowel separator"]],
    [0x200b, ["ZWSP", "zero-width space"]], [0x200c, ["ZWNJ", "zero-width non-joiner"]],
    [0x200d, ["ZWJ", "zero-width joiner"]], [0x200e, ["LRM", "left-to-right mark"]],
    [0x200f, ["RLM", "right-to-left mark"]], [0x2028, ["LS", "line separator"]],
    [0x2029, ["PS", "paragraph separator"]], [0x202a, ["LRE", "left-to-right embedding"]],
    [0x202b, ["RLE", "right-to-left embedding"]], [0x202c, ["PDF", "end of direction"]],
    [0x202d, ["LRO", "left-to-right override"]], [0x202e, ["RLO", "right-to-left override"]],
    [0x2060, ["WJ", "word joiner"]], [0x2066, ["LRI", "left-to-right isolate"]],
    [0x2067, ["RLI", "right-to-left isolate"]], [0x2068, ["FSI", "first strong isolate"]],
    [0x2069, ["PDI", "end of isolate"]], [0xfeff, ["BOM", "byte order mark"]],
  ]);
  const CONTROLS = (
    "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US"
  ).split(" ");
  // Joiners are letters' and emoji's own business, and a mark only beside plain ASCII, where they do nothing.
  const UNSEEN = new RegExp(
    "[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" +
      "\\ufff9-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e007f}]|\\p{Cs}" +
      "|(?<=[\\0-\\x7f])[\\u200c\\u200d]|[\\u200c\\u200d](?=[\\0-\\x7f])",
    "gu",
  );

  /** Make an element; `on...` attributes are listeners, false and null are left out, children may be texts. */
  mm.el = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  };

  const unseen = (character) => {
    const point = character.codePointAt(0);
    const code = "U+" + point.toString(16).toUpperCase().padStart(4, "0");
    const [short, name] = SHORT.get(point) ?? [CONTROLS[point] ?? code, "character that cannot be seen"];
    return mm.el("span", { class: "unseen", title: `${code} ${name}` }, short);
  };

  /** Put a text into an element, with a mark for each character that cannot be seen or turns the direction. */
  mm.text = (element, text) => {
    let at = 0;
    for (const found of text.matchAll(UNSEEN)) {
      if (found.index > at) element.append(text.slice(at, found.index));
      element.append(unseen(found[0]));
      at = found.index + found[0].length;
    }
    if (at < text.length) element.append(text.slice(at));
    return element;
  };

  /** Show a number as people write it: thousands apart, at most four digits behind the point. */
  mm.number = (value) => value.toLocaleString("en", { maximumFractionDigits: 4 });
}
