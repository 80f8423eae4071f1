"""What a page must hold in a real browser at any width and in both colour schemes: all visible, readable, reachable."""

from playwright.sync_api import Page

WIDTHS = (360, 768, 1280, 1920, 2560)
SCHEMES = ("light", "dark")

_AUDIT = r"""() => {
  const problems = [];
  const root = document.documentElement;
  const width = root.clientWidth;
  if (root.scrollWidth > width) problems.push(`the page scrolls sideways: ${root.scrollWidth} > ${width}`);

  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], below) => [0, 1, 2].map((n) => [r, g, b][n] * a + below[n] * (1 - a));
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const layer = rgba(getComputedStyle(at).backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), rgba("white").slice(0, 3));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const opacity = (one) => {
    let found = 1;
    for (let at = one; at; at = at.parentElement) found *= Number(getComputedStyle(at).opacity);
    return found;
  };
  const kind = (one) => `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""}`;
  const name = (one) => `${kind(one)} "${one.textContent.slice(0, 40)}"`;
  const readable = (one, colour, style, below, more = 1) => {
    const ink = over([...rgba(colour).slice(0, 3), rgba(colour)[3] * opacity(one) * more], below);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const found = contrast(ink, below);
    if (found < (isLarge ? 3 : 4.5)) problems.push(`contrast ${found.toFixed(2)}: ${name(one)}`);
  };
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const breaks = (one) => {
    for (const node of one.childNodes) {
      if (node.nodeType !== 3) continue;
      for (const { 0: word, index } of node.data.matchAll(/[A-Za-z0-9_@.%]{2,24}(?![^\s,;:])/g)) {
        if (index && /\S/.test(node.data[index - 1])) continue;
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (range.getClientRects().length > 1) return word;
      }
    }
    return null;
  };
  const checkRows = (place) => {
    const rows = new Map();
    for (const one of place.children) {
      const box = one.getBoundingClientRect();
      if (!box.width) continue;
      const top = [...rows.keys()].find((known) => Math.abs(known - box.top) < 4) ?? box.top;
      rows.set(top, Math.max(rows.get(top) ?? 0, box.right));
    }
    const style = getComputedStyle(place);
    const edge = parseFloat(style.paddingRight) + parseFloat(style.borderRightWidth);
    const end = place.getBoundingClientRect().right - edge;
    for (const right of rows.values())
      if (right < end - 2) problems.push(`hole at the end of a row: ${kind(place)} ${Math.round(end - right)} pixels`);
  };
  for (const place of document.querySelectorAll(".filled-rows, .panels, .pair"))
    if (place.checkVisibility()) checkRows(place);

  for (const one of document.body.querySelectorAll("*")) {
    if (one.closest(".spoken, noscript, script, style") || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    if (box.right > width + 1 || box.left < -1) problems.push(`leaves the window: ${name(one)}`);
    if (one.closest("svg")) {
      if (one.tagName !== "text" && one.tagName !== "tspan") continue;
      const frame = one.closest("svg").parentElement.getBoundingClientRect();
      if (box.right > frame.right + 1 || box.left < frame.left - 1) problems.push(`leaves its chart: ${name(one)}`);
      if (!hasText(one)) continue;
      const middle = [box.x + box.width / 2, box.y + box.height / 2];
      const holds = (shape) => {
        const at = shape.getBoundingClientRect();
        return at.left <= middle[0] && at.right >= middle[0] && at.top <= middle[1] && at.bottom >= middle[1];
      };
      const shapes = [...one.closest("svg").querySelectorAll("[aria-label=bar] :is(rect, path)")].filter(holds);
      const paper = ground(one.closest("div"));
      const below = shapes.length ? over(rgba(getComputedStyle(shapes.at(-1)).fill), paper) : paper;
      readable(one, style.fill, style, below);
      continue;
    }
    if (one.clientWidth && one.scrollWidth > one.clientWidth + 1)
      problems.push(`cut: ${name(one)} ${one.scrollWidth} > ${one.clientWidth}`);
    if (one.matches(":disabled, :disabled *")) continue;
    if (hasText(one)) readable(one, style.color, style, ground(one));
    const broken = hasText(one) && style.webkitLineClamp === "none" ? breaks(one) : null;
    if (broken) problems.push(`breaks the word ${broken}: ${name(one)}`);
    for (const pseudo of ["::before", "::after"]) {
      const beside = getComputedStyle(one, pseudo);
      if (["none", "normal", '""'].includes(beside.content)) continue;
      readable(one, beside.color, beside, ground(one), Number(beside.opacity));
    }
  }
  return [...new Set(problems)];
}"""

_REACHABLE = """() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];
  return all.filter((one) => one.tabIndex > 0).length ? null : (window.reachable = all.filter((one) =>
    one.tabIndex === 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }))).length;
}"""

_FOCUSED = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [window.reachable.indexOf(at), at.matches(":focus-visible") && isSeen];
}"""


def find_problems(page: Page) -> list[str]:
    """List what is cut, leaves the window or is hard to read.

    Sideways scrolling, clipped text, words broken in two, contrast below AA, rows of cards with a hole at their end.
    """
    # Charts are drawn at the width they get, a frame later.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    problems: list[str] = page.evaluate(_AUDIT)
    return problems


def open_all(page: Page) -> None:
    """Unfold everything that is folded."""
    page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def find_keyboard_problems(page: Page, most: int = 60) -> list[str]:
    """List where the tab key leaves the order of the page, or a focus cannot be seen."""
    count = page.evaluate(_REACHABLE)
    if count is None:
        return ["an element has a tabindex of its own order"]
    problems = []
    # The next tab starts at what had the focus last, even where it has it no more.
    page.evaluate(
        "() => { document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); }"
    )
    for number in range(min(count, most)):
        page.keyboard.press("Tab")
        place, is_seen = page.evaluate(_FOCUSED)
        if place != number:
            return [*problems, f"tab {number + 1} goes to element {place}"]
        if not is_seen:
            problems.append(f"the focus on element {place} cannot be seen")
    return problems
