"use strict";
/* The items of the page: read, filtered, sorted. Knows nothing of elements but those that hold the data. */
{
  const held = (id) => document.getElementById(id).textContent;
  const page = JSON.parse(held("mm-page"));
  const marks = page.filters.filter((filter) => filter.kind === "mark").map((filter) => filter.name);

  mm.page = page;
  mm.data = JSON.parse(held("mm-data"));
  mm.items = JSON.parse(held("mm-rows")).map(([id, cells, marked, thumbnail, search], index) => ({
    index,
    id,
    cells: Object.fromEntries(page.columns.map((column, place) => [column.name, cells[place]])),
    marks: new Set(marked.map((mark) => marks[mark])),
    thumbnail,
    search,
  }));
  const byId = new Map(mm.items.map((item) => [item.id, item]));
  mm.item = (id) => byId.get(id);

  // Large, so cut into lines only when an item is opened or an image shown.
  const lines = (id) => {
    let cut = null;
    return (number) => (cut ??= held(id).split("\n"))[number];
  };
  const details = lines("mm-details");
  mm.image = lines("mm-images");
  mm.details = (item) => {
    const [messages, images, fields, facts, others] = JSON.parse(details(item.index));
    return { messages, images, fields, facts, others };
  };

  const naturally = new Intl.Collator("en", { numeric: true }).compare;
  const compare = (a, b) => {
    if (a === b) return 0;
    // What has no value stands last, whatever the direction.
    if (a === null || a === undefined) return Infinity;
    if (b === null || b === undefined) return -Infinity;
    return typeof a === "number" && typeof b === "number" ? a - b : naturally(String(a), String(b));
  };
  const orders = new Map();
  // What the page puts first stands first until a column is sorted by.
  const unsorted = page.first ? [...mm.items].sort((a, b) => b.marks.has(page.first) - a.marks.has(page.first) || a.index - b.index) : mm.items;
  const ordered = (sort) => {
    if (!sort) return unsorted;
    const name = sort.replace(/^-/, "");
    const sign = sort === name ? 1 : -1;
    if (!page.columns.some((column) => column.name === name)) return unsorted;
    if (!orders.has(sort)) {
      const signed = (difference) => (Number.isFinite(difference) ? sign * difference : difference);
      const order = [...mm.items].sort((a, b) => signed(compare(a.cells[name], b.cells[name])) || a.index - b.index);
      orders.set(sort, order);
    }
    return orders.get(sort);
  };

  /** Give the items that a state of the page shows, in its order: all words found, all marks carried, all choices met. */
  mm.shown = ({ q, marks: wanted, choices, sort }) => {
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(choices);
    return ordered(sort).filter(
      (item) =>
        wanted.every((mark) => item.marks.has(mark)) &&
        chosen.every(([name, value]) => String(item.cells[name] ?? "") === value) &&
        words.every((word) => item.search.includes(word)),
    );
  };

  /** Count the values of a column, most frequent first. */
  mm.values = (name) => {
    const counts = new Map();
    for (const item of mm.items) {
      const value = String(item.cells[name] ?? "");
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1] || naturally(a[0], b[0]));
  };
}
