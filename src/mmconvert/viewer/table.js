"use strict";
/* The items: their tools, and one page of them as lines of a table or as cards. */
{
  const { el, text } = mm;
  const PAGE = 50;
  const MOST = 500; // values that a menu can hold
  const MOST_CHOICES = 4; // that stand side by side
  const parts = {};
  const seen = mm.page.columns.filter(({ kind }) => kind !== "hidden");
  const columns = seen.filter(({ name }) => mm.items.some((item) => ![null, undefined, ""].includes(item.cells[name])));
  const classes = (column) => {
    const told = column === columns[0] || column.kind === "long" || Object.keys(column.tones).length;
    return `col-${column.kind} ${told ? "" : "beside"}`;
  };

  const choice = (filter) => {
    const values = mm.values(filter.name);
    const name = (value, count) => `${value.length > 60 ? `${value.slice(0, 60)}…` : value || "(none)"} · ${mm.number(count)}`;
    const select = el(
      "select",
      { "aria-label": filter.label, onchange: (event) => mm.setFilter(filter.name, event.target.value || null) },
      el("option", { value: "" }, "all"),
      // A value that is "" needs a word of its own: the option of "all" is "" already.
      values.map(([value, count]) => text(el("option", { value: value || "\0" }), name(value, count))),
    );
    select.quiet = filter.quiet;
    select.holder = el("label", { class: "choice" }, text(el("span", {}), filter.label), select);
    parts.choices.set(filter.name, select);
    return select.holder;
  };

  /** Show the first choices; where there are many, the others fold. */
  const shownChoices = (filters) => {
    const always = filters.filter((filter) => !filter.quiet);
    const folded = new Set(always.length > MOST_CHOICES ? always.slice(MOST_CHOICES - 1) : []);
    const shown = filters.filter((filter) => !folded.has(filter)).map(choice);
    if (!folded.size) return shown;
    parts.more = el("details", { class: "more-choices" }, el("summary", {}, `${mm.number(folded.size)} more filters`), el("div", { class: "tools" }, [...folded].map(choice)));
    return [...shown, parts.more];
  };

  const chip = (filter) => {
    const count = mm.items.reduce((sum, item) => sum + item.marks.has(filter.name), 0);
    if (!count) return null;
    const button = el(
      "button",
      {
        type: "button", class: `chip ${filter.tone}`, title: filter.hint || null, "aria-pressed": "false",
        onclick: () => mm.setFilter(filter.name, !mm.state.marks.includes(filter.name)),
      },
      text(el("span", {}), filter.label), el("span", { class: "count" }, mm.number(count)),
    );
    parts.chips.set(filter.name, button);
    return button;
  };

  const heading = (column) => {
    const button = el("button", { type: "button", onclick: () => mm.sortBy(column.name) }, text(el("span", {}), column.label));
    const cell = el("th", { scope: "col", class: classes(column) }, button);
    parts.headings.set(column.name, cell);
    return cell;
  };

  const views = () => {
    const button = (view, label) => {
      const made = el("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => mm.setView(view) }, label);
      parts.views.set(view, made);
      return made;
    };
    return el("div", { class: "views", role: "group", "aria-label": "Layout" }, button("", "List"), button("gallery", "Gallery"));
  };

  const pager = () => {
    const button = (label, name, to) =>
      el("button", { type: "button", title: name, "aria-label": name, onclick: () => mm.turnTo(to()) }, label);
    parts.back = button("‹", "Previous page", () => mm.state.page - 1);
    parts.on = button("›", "Next page", () => mm.state.page + 1);
    parts.page = el("span", {});
    return el("nav", { class: "pager", "aria-label": "Pages" }, parts.back, parts.page, parts.on);
  };

  /** Build the section once; `mm.showTable` fills it. */
  mm.buildTable = (section) => {
    Object.assign(parts, { chips: new Map(), choices: new Map(), headings: new Map(), views: new Map() });
    parts.images = mm.items.some((item) => item.thumbnail !== null);
    parts.search = el("input", {
      type: "search", placeholder: "Search", "aria-label": `Search all texts of the ${mm.page.unit[1]}`, title: "Press / to come here",
      "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", oninput: (event) => mm.setFilter("search", event.target.value),
    });
    parts.status = el("p", { role: "status", class: "status" });
    parts.clear = el("button", { type: "button", class: "clear", onclick: () => mm.clear() }, "Clear filters");
    const filters = mm.page.filters;
    const chips = filters.filter((filter) => filter.kind === "mark");
    const choices = filters.filter((filter) => {
      const values = filter.kind === "choice" ? mm.values(filter.name).length : 0;
      return values > 1 && values <= MOST;
    });
    parts.body = el("tbody");
    parts.gallery = el("ol", { class: "gallery", "aria-label": "Gallery", hidden: true });
    const heads = columns.map(heading);
    if (parts.images) heads.splice(1, 0, el("th", { scope: "col", class: "thumbnail" }, el("span", { class: "spoken" }, "Image")));
    section.replaceChildren(
      el("div", { class: "tools" }, parts.search, shownChoices(choices),
        el("div", { class: "chips", role: "group", "aria-label": "Filters" }, chips.map(chip))),
      el("div", { class: "above" }, parts.status, parts.clear, views(), pager()),
      (parts.place = el("div", { class: "scroll" },
        el("table", {},
          text(el("caption", { class: "spoken" }), `${mm.page.unit[1]}. Arrow keys move from one to the next, Enter opens one, Escape closes it.`),
          el("thead", {}, el("tr", {}, heads)), parts.body))),
      parts.gallery,
      el("p", { class: "keys" }, el("kbd", {}, "/"), " search ", el("kbd", {}, "↑"), el("kbd", {}, "↓"), ` ${mm.page.unit[1]} `,
        el("kbd", {}, "Enter"), " open ", el("kbd", {}, "Esc"), " close ", el("kbd", {}, "←"), el("kbd", {}, "→"), " pages"),
    );
    mm.fitTable(parts.place, ["tight", "narrow", "stacked"]);
    return parts;
  };

  const cell = (column, value, first) => {
    const into = el(first ? "th" : "td", { class: classes(column), scope: first ? "row" : null, "data-label": first ? null : column.label });
    if (value === null || value === undefined || value === "") return into;
    const tone = Object.hasOwn(column.tones, value) ? column.tones[value] : undefined;
    const shown = typeof value === "number" ? mm.number(value) : String(value);
    // Directions inside stay inside; a long text shows its beginning.
    into.append(text(el("bdi", { class: tone === undefined ? null : `tag ${tone}` }), shown));
    return into;
  };

  const line = (item, focusable) => {
    const cells = columns.map((column, place) => cell(column, item.cells[column.name], place === 0));
    if (parts.images) {
      const into = el("td", { class: "thumbnail" });
      if (item.thumbnail !== null) into.append(el("img", { src: mm.image(item.thumbnail), alt: "", decoding: "async" }));
      cells.splice(1, 0, into);
    }
    const row = el("tr", { class: "entry", tabindex: focusable ? 0 : -1, "aria-current": item.id === mm.state.item ? "true" : null }, cells);
    row.item = item;
    return row;
  };

  /** Show the page of the state; gives the items that pass its filters. */
  mm.showTable = (state) => {
    const found = mm.shown(state);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(Math.max(1, state.page), pages);
    const start = (state.page - 1) * PAGE;
    const lines = found.slice(start, start + PAGE);
    const current = Math.max(0, lines.findIndex((item) => item.id === state.item));
    const isGallery = state.view === "gallery" && lines.length > 0;
    const make = isGallery ? (item, focusable) => mm.galleryCard(item, columns, focusable) : line;
    const made = lines.map((item, place) => make(item, place === current));
    parts.body.replaceChildren(...(isGallery ? [] : made));
    parts.gallery.replaceChildren(...(isGallery ? made : []));
    parts.gallery.hidden = !isGallery;
    parts.place.hidden = isGallery;
    if (!lines.length)
      parts.body.append(el("tr", { class: "none" }, el("td", { colspan: columns.length + 1 }, `No ${mm.page.unit[0]} passes the filters.`)));
    parts.place.fit();
    for (const [view, button] of parts.views) button.setAttribute("aria-pressed", String(state.view === view));
    for (const [name, button] of parts.chips) button.setAttribute("aria-pressed", String(state.marks.includes(name)));
    for (const [name, select] of parts.choices) {
      select.value = name in state.choices ? state.choices[name] || "\0" : "";
      select.holder.hidden = select.quiet && !(name in state.choices);
      if (name in state.choices && parts.more?.contains(select)) parts.more.open = true;
    }
    for (const [name, head] of parts.headings) {
      const direction = { [name]: "ascending", [`-${name}`]: "descending" }[state.sort];
      direction ? head.setAttribute("aria-sort", direction) : head.removeAttribute("aria-sort");
    }
    if (parts.search.value !== state.q) parts.search.value = state.q;
    const all = mm.items.length;
    const unit = mm.page.unit[all === 1 ? 0 : 1];
    parts.status.textContent = found.length === all ? `${mm.number(all)} ${unit}` : `${mm.number(found.length)} of ${mm.number(all)} ${unit}`;
    parts.clear.hidden = !(state.q || state.marks.length || Object.keys(state.choices).length);
    parts.page.textContent = `Page ${mm.number(state.page)} of ${mm.number(pages)}`;
    parts.back.disabled = state.page === 1;
    parts.on.disabled = state.page === pages;
    return found;
  };
  mm.pageOf = (place) => Math.floor(place / PAGE) + 1;
}
