"use strict";
/* Categories: a heat map of categories and results, the worst first, each cell one click from its samples. */
{
  const { el, text } = mm;
  const { report, labels, columns } = mm.data;
  const entries = report.entries;
  const MAX_LINES = 300;
  const WORST = 3;
  const FEW_RESULTS = 3; // whose heat map leaves room for the intervals beside it
  const ORDERS = ["worst first", "best first", "as in the data", "by name"];

  const groupedBy = [...new Set(entries.flatMap((entry) => Object.keys(entry.groups)))].filter((column) =>
    entries.some((entry) => Object.keys(entry.groups[column] ?? {}).length > 1));

  const collect = (by, metric) =>
    entries.flatMap((entry, place) =>
      Object.entries(entry.groups[by] ?? {}).flatMap(([group, metrics]) => {
        const one = mm.pick(metrics, entry, metric);
        return one && one.value !== null ? [mm.chartRow(group, place, one, mm.several ? `${group}, ${labels[place]}` : group)] : [];
      }));

  const averages = (rows) => {
    const sums = new Map();
    for (const row of rows) {
      const held = sums.get(row.group) ?? { sum: 0, count: 0, n: 0, falls: row.one.higher_is_better === false };
      sums.set(row.group, { ...held, sum: held.sum + row.value, count: held.count + 1, n: Math.max(held.n, row.n) });
    }
    return new Map([...sums].map(([group, { sum, count, n, falls }]) => [group, { value: ((falls ? -1 : 1) * sum) / count, n }]));
  };
  const inOrder = (groups, means, order) => {
    const by = {
      "worst first": (a, b) => means.get(a).value - means.get(b).value,
      "best first": (a, b) => means.get(b).value - means.get(a).value,
      "by name": (a, b) => a.localeCompare(b, "en", { numeric: true }),
    }[order];
    return by ? [...groups].sort(by) : groups;
  };

  const show = (by, group) => [[by, group === "" ? "\0" : group]];
  const isLinked = (by) => mm.filterable.has(by);
  const label = (by, group) => (isLinked(by) ? mm.link(group || "(none)", show(by, group)) : text(el("span", { dir: "auto" }), group || "(none)"));

  const heatMap = (by, rows, groups) => {
    const places = [...new Set(rows.map((row) => row.series))];
    const cells = new Map(rows.map((row) => [`${row.series}\0${row.group}`, row]));
    const values = rows.map((row) => row.value);
    const isShare = rows.every((row) => row.unit === "fraction");
    const [low, high] = isShare ? [0, 1] : [Math.min(...values), Math.max(...values)];
    const shade = (value) => `color-mix(in oklab, var(--accent) ${Math.round(((value - low) / (high - low || 1)) * 45)}%, var(--paper))`;
    const cellOf = (group, place) => {
      const at = el("td", { class: "heat", "data-label": labels[place] });
      const row = cells.get(`${place}\0${group}`);
      if (!row) return at;
      at.style.background = shade(row.value);
      const shown = mm.metric(row.value, row.unit, row.n);
      at.title = row.title;
      at.append(isLinked(by) ? mm.link(shown, [...show(by, group)], `${group}, ${labels[place]}: ${shown}, show these samples`) : shown,
        el("small", {}, ` n ${mm.number(row.n)}`));
      return at;
    };
    return mm.sheet(el("table", {},
      text(el("caption", { class: "spoken" }), `Scores by ${mm.words(by)}; a stronger colour is a higher score`),
      el("thead", {}, el("tr", {}, text(el("th", { scope: "col" }), mm.words(by)), places.map((place) => text(el("th", { scope: "col", dir: "auto" }), labels[place])))),
      el("tbody", {}, groups.map((group) => el("tr", {}, el("th", { scope: "row" }, label(by, group)), places.map((place) => cellOf(group, place)))))), "heat-map");
  };

  const valueTable = (by, metric, rows) =>
    mm.table(`${mm.words(metric)} by ${mm.words(by)}`, [mm.words(by), ...(mm.several ? ["result"] : []), mm.words(metric), "95 % interval", "n"],
      rows.slice(0, MAX_LINES).map((row) => [label(by, row.group), ...(mm.several ? [labels[row.series]] : []), mm.metric95(row.one), mm.interval95(row.one), row.n]));

  const worstOf = (by, means) => {
    const worst = inOrder([...means.keys()], means, "worst first").slice(0, WORST);
    if (!isLinked(by) || means.size <= WORST || !mm.page.filters.some(({ name }) => name === "wrong")) return null;
    return el("div", { class: "look", role: "group", "aria-label": "Worst categories" }, el("span", { class: "about" }, "Score 0 in the worst:"),
      worst.map((group) => mm.link(group || "(none)", [...show(by, group), ["wrong", true]], `${group || "none"}: samples with score 0`, "pill")));
  };

  const draw = ({ by, metric, order }) => {
    const every = collect(by, metric);
    if (!every.length) return el("p", { class: "about" }, "No result has this metric.");
    const means = averages(every);
    const known = [...means.keys()];
    const largest = new Set([...known].sort((a, b) => means.get(b).n - means.get(a).n).slice(0, mm.MOST_GROUPS));
    const groups = inOrder(known.filter((group) => largest.has(group)), means, order);
    const rows = every.filter((row) => largest.has(row.group));
    const told = every.length > MAX_LINES ? `the table has ${MAX_LINES} lines of ${mm.number(every.length)}, the JSON report all` : "the table has all";
    const scaled = mm.byScale(rows);
    const places = new Map(groups.map((group, place) => [group, place]));
    const rank = (row) => places.get(row.group) ?? groups.length;
    const few = labels.length <= FEW_RESULTS;
    const chart = ({ unit, rows: drawn }, place) =>
      mm.chart(`${mm.words(metric)} by ${mm.words(by)}`, mm.bars(drawn, groups.filter((group) => drawn.some((row) => row.group === group)), mm.several ? labels : ["all"], unit),
        place ? null : valueTable(by, metric, mm.several ? every : [...every].sort((a, b) => rank(a) - rank(b))),
        { legend: mm.resultLegend(drawn), beside: !mm.several || !few, click: isLinked(by) ? (place) => mm.showSamples(show(by, drawn[place].group)) : null });
    const left = el("p", { class: "about" }, `The ${groups.length} largest of ${mm.number(known.length)} categories; ${told}.`);
    const above = groups.length < known.length ? [left] : [];
    if (!mm.several) return [...above, scaled.map(chart), worstOf(by, means)].flat().filter(Boolean);
    const map = [heatMap(by, rows, groups), worstOf(by, means)].filter(Boolean);
    const room = labels.length < FEW_RESULTS ? "soon" : "";
    const intervals = el("details", { class: "more", open: few && mm.isWide(room) }, el("summary", {}, "Intervals"), scaled.map(chart));
    return [...above, ...(few ? [mm.pair(map, intervals, room)] : [...map, intervals])];
  };

  /** The panel of categories, null where results have none. */
  mm.categoryPanel = () => {
    if (!groupedBy.length) return null;
    const held = (column) => entries.flatMap((entry) => Object.values(entry.groups[column] ?? {}));
    const content = mm.choosing(
      [{ name: "by", values: () => groupedBy }, { name: "metric", values: (chosen) => mm.metricNames(held(chosen?.by ?? groupedBy[0])) }, { name: "order", values: () => ORDERS }],
      draw);
    return mm.panel("Categories", mm.several ? "stronger colour = higher score" : "with 95 % intervals", content, { open: true });
  };
  mm.ruleColumn = (place) => columns[place].rule;
  mm.parsedColumn = (place) => columns[place]["parsed answer"];
}
