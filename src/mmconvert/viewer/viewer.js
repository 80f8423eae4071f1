"use strict";
/* The page: its heading, its state, which the address keeps, and its keys. */
{
  const { el, text } = mm;
  const NOTES = 3; // that stand open
  const THEMES = ["", "light", "dark"];
  const main = { items: document.getElementById("items"), panel: document.getElementById("item"), browser: document.getElementById("browser") };
  let found = [];

  const fromAddress = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    const state = { q: given.get("q") ?? "", marks: [], choices: {}, sort: given.get("sort") ?? "", item: given.get("item"), theme: given.get("theme") ?? "", view: given.get("view") ?? "" };
    state.page = Number.parseInt(given.get("page") ?? "1", 10) || 1;
    for (const { kind, name } of mm.page.filters) {
      if (kind === "mark" && given.getAll("mark").includes(name)) state.marks.push(name);
      if (kind === "choice" && given.has(`is.${name}`)) state.choices[name] = given.get(`is.${name}`);
    }
    return state;
  };
  const intoAddress = ({ q, marks, choices, sort, page, item, theme, view }) => {
    const kept = new URLSearchParams();
    if (q) kept.set("q", q);
    for (const mark of marks) kept.append("mark", mark);
    for (const [name, value] of Object.entries(choices)) kept.set(`is.${name}`, value);
    if (sort) kept.set("sort", sort);
    if (page > 1) kept.set("page", page);
    if (item !== null) kept.set("item", item);
    if (theme) kept.set("theme", theme);
    if (view) kept.set("view", view);
    history.replaceState(null, "", `#${kept}`);
  };

  // Browsers refuse an address that changes with every key.
  let waiting = 0;
  const keepInAddress = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => intoAddress(mm.state), 100);
  };

  const row = (id) => [...main.items.querySelectorAll(".entry")].find((one) => one.item?.id === id);
  const focusRow = (target) => {
    if (!target?.item) return;
    for (const other of main.items.querySelectorAll('.entry[tabindex="0"]')) other.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  };

  const show = () => {
    found = mm.showTable(mm.state);
    keepInAddress();
  };

  /** Filter: by a mark (true or false), by a column's value (null for all), by "search" (a text). */
  mm.setFilter = (name, value) => {
    const state = mm.state;
    if (name === "search") state.q = value;
    else if (mm.page.filters.some((filter) => filter.kind === "mark" && filter.name === name))
      state.marks = [...state.marks.filter((mark) => mark !== name), ...(value ? [name] : [])];
    else if (value === null) delete state.choices[name];
    else state.choices[name] = value === "\0" ? "" : value;
    state.page = 1;
    show();
  };
  mm.clear = () => {
    Object.assign(mm.state, { q: "", marks: [], choices: {}, page: 1 });
    show();
  };
  mm.sortBy = (name) => {
    mm.state.sort = mm.state.sort === name ? `-${name}` : mm.state.sort === `-${name}` ? "" : name;
    mm.state.page = 1;
    show();
  };
  /** Show the items as lines ("") or as cards ("gallery"). */
  mm.setView = (view) => {
    mm.state.view = view;
    show();
  };
  mm.turnTo = (page) => {
    mm.state.page = page;
    show();
  };

  const neighbour = (step) => {
    const place = found.findIndex((item) => item.id === mm.state.item);
    return place < 0 ? null : found[place + step];
  };
  const buttons = (item) => {
    const place = found.indexOf(item);
    const button = (label, name, keys, act, disabled) =>
      el("button", { type: "button", title: `${name} (${keys})`, "aria-label": name, onclick: act, disabled }, label);
    const go = (step) => () => mm.openItem(neighbour(step).id);
    return el("div", { class: "buttons" },
      place < 0 ? null : el("span", { class: "place" }, `${mm.number(place + 1)} of ${mm.number(found.length)}`),
      button("‹", `Previous ${mm.page.unit[0]}`, "k", go(-1), !neighbour(-1)),
      button("›", `Next ${mm.page.unit[0]}`, "j", go(1), !neighbour(1)),
      button("✕", "Close", "Esc", () => mm.closeItem(), false));
  };

  /** Open an item beside the table, on its page of the table where the filters show it. */
  mm.openItem = (id, { focus = false } = {}) => {
    const item = mm.item(id);
    if (!item) return;
    mm.state.item = id;
    const place = found.indexOf(item);
    if (place >= 0) mm.state.page = mm.pageOf(place);
    const held = main.panel.contains(document.activeElement) ? document.activeElement : null;
    main.panel.hidden = false;
    main.browser.classList.add("open");
    show();
    mm.showItem(main.panel, item, buttons(item));
    row(id)?.scrollIntoView({ block: "nearest" });
    // What had the focus is made anew; it goes to what stands in its place.
    const same = [...main.panel.querySelectorAll(".buttons button:enabled")].find((one) => one.title === held?.title);
    if (focus || held) (same ?? main.panel.querySelector("h2")).focus({ preventScroll: true });
  };
  mm.closeItem = () => {
    const id = mm.state.item;
    mm.state.item = null;
    main.panel.hidden = true;
    main.browser.classList.remove("open");
    show();
    focusRow(row(id));
  };

  const theme = () => {
    document.documentElement.dataset.theme = mm.state.theme;
    const button = document.getElementById("theme");
    button.textContent = { "": "◐", light: "☀", dark: "☾" }[mm.state.theme];
    button.setAttribute("aria-label", `Colours: ${mm.state.theme || "as the system"}`);
    button.title = `Colours: ${mm.state.theme || "as the system"}`;
  };
  const nextTheme = () => {
    mm.state.theme = THEMES[(THEMES.indexOf(mm.state.theme) + 1) % THEMES.length];
    theme();
    keepInAddress();
  };

  const build = () => {
    const { title, lead, facts, notes } = mm.page;
    document.getElementById("top").append(
      el("div", {}, text(el("h1", { dir: "auto" }), title), lead ? text(el("p", { class: "lead" }), lead) : null),
      el("button", { type: "button", id: "theme", onclick: nextTheme }),
    );
    const overview = document.getElementById("facts");
    overview.hidden = !facts.length && !notes.length;
    if (facts.length)
      overview.append(el("dl", {}, facts.map(([label, value]) => el("div", {}, text(el("dt", {}), label), text(el("dd", {}), value)))));
    const list = el("ul", { class: "notes" }, notes.map((note) => text(el("li", {}), note)));
    if (notes.length > NOTES) overview.append(el("details", {}, el("summary", {}, `${mm.number(notes.length)} notes on the files`), list));
    else if (notes.length) overview.append(list);
    mm.buildTable(main.items);
    main.items.addEventListener("click", (event) => {
      const target = event.target.closest(".entry");
      // A selection is being made, not an item opened.
      if (!target?.item || !getSelection().isCollapsed) return;
      mm.openItem(target.item.id);
      focusRow(row(target.item.id));
    });
  };

  const moveRow = (step) => {
    const from = document.activeElement.closest?.(".entry");
    const to = from ? (step > 0 ? from.nextElementSibling : from.previousElementSibling) : main.items.querySelector(".entry");
    if (!to?.item) return;
    if (mm.state.item !== null) mm.openItem(to.item.id);
    focusRow(row(to.item.id));
  };
  const inField = (element) => element.matches("input, select, textarea, [contenteditable]");
  const KEYS = {
    "/": () => main.items.querySelector("input[type=search]").focus(),
    Escape: () => (mm.state.item !== null ? mm.closeItem() : document.activeElement.blur()),
    ArrowDown: () => moveRow(1),
    ArrowUp: () => moveRow(-1),
    ArrowRight: () => mm.turnTo(mm.state.page + 1),
    ArrowLeft: () => mm.turnTo(mm.state.page - 1),
    j: () => neighbour(1) && mm.openItem(neighbour(1).id),
    k: () => neighbour(-1) && mm.openItem(neighbour(-1).id),
    Enter: () => {
      const target = document.activeElement.closest?.(".entry");
      if (target?.item) mm.openItem(target.item.id, { focus: true });
      return Boolean(target?.item);
    },
  };
  document.addEventListener("keydown", (event) => {
    const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
    const typing = inField(event.target);
    if (!act || event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
    // In the open item the arrows scroll.
    if (event.key.startsWith("Arrow") && main.panel.contains(event.target)) return;
    if (act() !== false) event.preventDefault();
  });
  addEventListener("hashchange", () => {
    mm.state = fromAddress();
    start();
  });

  const start = () => {
    theme();
    show();
    if (mm.state.item !== null && mm.item(mm.state.item)) mm.openItem(mm.state.item);
    else if (!main.panel.hidden) mm.closeItem();
  };
  mm.state = fromAddress();
  build();
  start();
}
