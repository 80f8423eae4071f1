"use strict";
/* Charts, drawn by Observable Plot at the width they get; each has a name and the table of its values. */
{
  const { el, text } = mm;
  const MOST_GROUPS = 40;
  const LINE = 26;
  const style = { fontSize: "12.5px", fontFamily: "var(--sans)", overflow: "visible" };

  mm.colour = (place) => `var(--series-${(place % 8) + 1})`;

  const FEW = 1000; // samples from which a second digit means something
  /** Write a metric in the unit that people read: fractions as percent, with one digit where samples are few. */
  mm.metric = (value, unit = "fraction", n = 0) => {
    if (value === null || value === undefined) return "–";
    const share = unit === "fraction" || unit === "percent";
    const digits = unit === "rows" ? 0 : share && n < FEW ? 1 : 2;
    return `${(unit === "fraction" ? value * 100 : value).toFixed(digits).replace("-", "−")}${share ? " %" : ""}`;
  };
  /** Write a metric without its unit, as the ends of an interval. */
  mm.plain = (value, unit, n) => mm.metric(value, unit, n).replace(" %", "");
  /** Write a difference: shares differ by points. */
  mm.signed = (value, unit = "fraction", n = 0) => {
    if (value === null || value === undefined) return "–";
    const shown = mm.plain(value, unit, n);
    return `${value > 0 ? "+" : ""}${shown} points`;
  };
  mm.interval = (ci, unit, n) => (ci ? `${mm.plain(ci[0], unit, n)} to ${mm.plain(ci[1], unit, n)}` : "");
  /** Say how many ticks an axis of counts may have, so that none stands between two counts. */
  mm.wholeTicks = (counts) => Math.min(4, Math.max(...counts, 1));
  mm.samples = (n) => `${mm.number(n)} ${n === 1 ? "sample" : "samples"}`;
  mm.interval95 = (one) => el("span", { class: "span" }, mm.interval(one.ci95, one.unit, one.n));
  mm.metric95 = (one) => el("data", { value: one.value === null ? "" : String(one.value) }, mm.metric(one.value, one.unit, one.n));

  const isNumber = (value) => typeof value === "number" || value?.tagName === "DATA" || (value?.tagName === "BUTTON" && /^[\d,]+$/.test(value.textContent));
  const cell = (value, first, label, inNumbers) => {
    const into = el(first ? "th" : "td", {
      scope: first ? "row" : null, "data-label": first ? null : label,
      class: inNumbers ? "col-number" : null,
    });
    if (value instanceof Node) into.append(value);
    else if (value !== null && value !== undefined) text(into, typeof value === "number" ? mm.number(value) : value);
    return into;
  };

  const numeric = (lines, place) => place > 0 && lines.some((line) => isNumber(line[place]));

  /** Make a table of texts, numbers and elements; the first cell of a line is its head. */
  mm.table = (caption, heads, lines) => {
    const numbers = heads.map((_, place) => numeric(lines, place));
    return mm.sheet(el("table", {},
      text(el("caption", { class: "spoken" }), caption),
      el("thead", {}, el("tr", {}, heads.map((head, place) => text(el("th", { scope: "col", class: numbers[place] ? "col-number" : null }), head)))),
      el("tbody", {}, lines.map((line) => el("tr", {}, line.map((value, place) => cell(value, place === 0, heads[place], numbers[place])))))));
  };
  /** Hold a table; where it is wider than its place, each line becomes a card. */
  mm.sheet = (table, name = "") => {
    const sheet = el("div", { class: `sheet ${name}` }, table);
    mm.fitTable(sheet, ["stacked"]);
    return sheet;
  };

  mm.legend = (names, colours) =>
    el("ul", { class: "legend", "aria-hidden": "true" },
      names.map((name, place) => {
        const swatch = el("i");
        swatch.style.background = colours[place];
        return el("li", {}, swatch, text(el("span", { dir: "auto" }), name));
      }));

  const redrawn = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) if (Math.round(contentRect.width) !== target.drawnWidth) target.redraw(contentRect.width);
  });

  /** Make a figure with its name above: `options(width)` are Plot's; the values stand in a table that opens below, or beside in a wide window. */
  mm.chart = (name, options, table, { legend = null, click = null, beside = false } = {}) => {
    const canvas = el("div", { class: "canvas" });
    canvas.redraw = (width) => {
      canvas.drawnWidth = Math.round(width);
      if (!canvas.drawnWidth) return;
      const drawn = Plot.plot({ width: canvas.drawnWidth, style, ...options(canvas.drawnWidth) });
      drawn.setAttribute("role", "img");
      drawn.setAttribute("aria-label", name);
      if (click)
        for (const mark of drawn.querySelectorAll("[aria-label=bar] :is(path, rect)")) {
          mark.classList.add("live");
          mark.addEventListener("click", () => click(mark.__data__));
        }
      canvas.replaceChildren(drawn);
    };
    redrawn.observe(canvas);
    return el("figure", { class: `chart ${beside ? "table-beside" : ""}` }, text(el("figcaption", {}), name), legend, canvas,
      table ? el("details", { class: "numbers", open: beside && mm.isWide() }, el("summary", {}, "Table"), table) : null);
  };

  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  const measure = (label) => pen.measureText(label).width;
  /** Cut labels to a width in pixels. */
  mm.shortLabel = (width) => (label) => {
    const letters = [...(label || "(none)")];
    if (measure(letters.join("")) <= width) return letters.join("");
    while (letters.length > 1 && measure(`${letters.join("")}…`) > width) letters.pop();
    return `${letters.join("")}…`;
  };
  const GAP = 16; // pixels between a label and its axis, and before it
  // Labels may take two fifths of the chart.
  const fitting = (labels, width) => {
    const margin = Math.min(Math.max(...labels.map((label) => measure(label || "(none)")), 12) + GAP, width * 0.4);
    return { margin, tick: mm.shortLabel(margin - GAP) };
  };
  mm.fitLabels = fitting;
  const signedTick = (value) => `${value > 0 ? "+" : ""}${mm.number(value).replace("-", "−")}`;
  const domain = (rows, unit) => {
    const ends = rows.flatMap((row) => [row.value, row.low, row.high]).filter((value) => value !== null && value !== undefined);
    const top = { fraction: 1, percent: 100 }[unit];
    const low = Math.min(0, ...ends);
    const high = Math.max(...ends, top ?? 0);
    return [low, high > low ? high : low + 1];
  };

  /** Part rows by the axis that can hold them: fractions beside percents stand in percent, other units apart. */
  mm.byScale = (rows) => {
    const scales = new Map();
    for (const row of rows) {
      const scale = row.unit === "fraction" ? "percent" : row.unit;
      scales.set(scale, [...(scales.get(scale) ?? []), row]);
    }
    const percent = (value) => (value === null || value === undefined ? value : value * 100);
    const drawn = (row) => (row.unit !== "fraction" ? row : { ...row, value: percent(row.value), low: percent(row.low), high: percent(row.high) });
    return [...scales].map(([unit, held]) => ({ unit, rows: held.map(drawn) }));
  };

  /** Bars with error bars: `rows` of group, series (its place), value, low, high; the groups from above. */
  mm.bars = (rows, groups, series, unit) => (width) => {
    const several = series.length > 1;
    const { margin, tick } = fitting(groups, width);
    const lines = rows.filter((row) => row.low !== null);
    const place = several ? { y: (row) => series[row.series], fy: "group" } : { y: "group" };
    const ordinal = several
      ? { fy: { domain: groups, label: null, padding: 0.18 }, y: { domain: series, axis: null, padding: 0.12 } }
      : { y: { domain: groups, label: null, padding: 0.28, tickFormat: tick, tickSize: 0 } };
    return {
      ...ordinal,
      height: groups.length * (several ? series.length * 17 + 10 : LINE) + 58,
      marginLeft: margin,
      marginRight: 62,
      marginTop: 4,
      marginBottom: 40,
      x: { domain: domain(rows, unit), label: unit === "percent" ? "%" : unit, labelAnchor: "center", labelArrow: "none", grid: true, ticks: 5 },
      marks: [
        several ? Plot.axisFy({ anchor: "left", tickFormat: tick, label: null, tickSize: 0, textAnchor: "end", dx: -6 }) : null,
        Plot.barX(rows, { ...place, x: "value", fill: (row) => mm.colour(row.series), rx2: 3, title: "title" }),
        Plot.ruleY(lines, { ...place, x1: "low", x2: "high", stroke: "var(--ink)", strokeWidth: 1.5 }),
        Plot.tickX(lines, { ...place, x: "low", stroke: "var(--ink)", strokeWidth: 1.5, inset: several ? 4 : 6 }),
        Plot.tickX(lines, { ...place, x: "high", stroke: "var(--ink)", strokeWidth: 1.5, inset: several ? 4 : 6 }),
        Plot.text(rows, { ...place, x: (row) => Math.max(row.high ?? row.value, 0), text: "shown", textAnchor: "start", dx: 7, fill: "var(--ink)", fontVariant: "tabular-nums" }),
        Plot.ruleX([0], { stroke: "var(--muted)" }),
      ],
    };
  };
  mm.MOST_GROUPS = MOST_GROUPS;

  /** Differences with their intervals around zero: rows of label, value, low, high, sure. */
  mm.forest = (rows, unit) => (width) => {
    const { margin, tick } = fitting(rows.map((row) => row.label), width);
    const lines = rows.filter((row) => row.low !== null);
    const far = Math.max(...rows.flatMap((row) => [row.value, row.low ?? 0, row.high ?? 0]).map(Math.abs), 0.001) * 1.1;
    const tone = (row) => (row.sure ? "var(--accent)" : "var(--muted)");
    return {
      height: rows.length * LINE + 58,
      marginLeft: margin,
      marginRight: 70,
      marginTop: 4,
      marginBottom: 40,
      x: { domain: [-far, far], label: unit === "percent" || unit === "points" ? "points" : unit, labelAnchor: "center", labelArrow: "none", grid: true, ticks: 5, tickFormat: signedTick },
      y: { domain: rows.map((row) => row.label), label: null, tickFormat: tick, tickSize: 0, padding: 0.3 },
      marks: [
        Plot.ruleX([0], { stroke: "var(--muted)" }),
        Plot.ruleY(lines, { y: "label", x1: "low", x2: "high", stroke: tone, strokeWidth: 2 }),
        Plot.dot(rows, { y: "label", x: "value", fill: tone, r: 5, title: "title" }),
        Plot.text(rows, { y: "label", x: (row) => row.high ?? row.value, text: "shown", textAnchor: "start", dx: 9, fill: "var(--ink)" }),
      ],
    };
  };

  /** Counts as bars in the colour of a series, the score in front: rows of label, rows, total. */
  mm.counts = (rows, series) => (width) => {
    const labels = rows.map((row) => row.label);
    const { margin, tick } = fitting(labels, width);
    return {
      height: rows.length * LINE + 54,
      marginLeft: margin,
      marginRight: 62,
      marginTop: 4,
      marginBottom: 40,
      x: { label: "samples", labelAnchor: "center", labelArrow: "none", grid: true, ticks: mm.wholeTicks(rows.map((row) => row.rows)) },
      y: { domain: labels, label: null, tickFormat: tick, tickSize: 0, padding: 0.28 },
      marks: [
        Plot.barX(rows, { y: "label", x: "rows", fill: `color-mix(in oklab, ${mm.colour(series)} 25%, var(--paper))`, rx2: 3, title: "title" }),
        Plot.barX(rows, { y: "label", x: "total", fill: mm.colour(series), pointerEvents: "none", rx2: 3 }),
        Plot.text(rows, { y: "label", x: "rows", text: (row) => mm.number(row.rows), textAnchor: "start", dx: 6, fill: "var(--ink)" }),
        Plot.ruleX([0], { stroke: "var(--muted)" }),
      ],
    };
  };

  /** Parts of what each rule pair adds to a difference, to the left and right of zero: rows of label, value. */
  mm.contributions = (rows) => (width) => {
    const labels = rows.map((row) => row.label);
    const { margin, tick } = fitting(labels, width * 1.3);
    const beyond = (some, textAnchor, dx) => Plot.text(some, { y: "label", x: "value", text: "shown", textAnchor, dx, fill: "var(--ink)" });
    const far = Math.max(...rows.map((row) => Math.abs(row.value)), 0.001) * 1.7;
    return {
      height: rows.length * LINE + 58,
      marginLeft: margin,
      marginRight: 24,
      marginTop: 4,
      marginBottom: 40,
      x: { domain: [-far, far], label: "points", labelAnchor: "center", labelArrow: "none", grid: true, ticks: 4, tickFormat: signedTick },
      y: { domain: labels, label: null, tickFormat: tick, tickSize: 0, padding: 0.28 },
      marks: [
        Plot.barX(rows, { y: "label", x: "value", fill: (row) => (row.value < 0 ? "var(--bad)" : "var(--good)"), rx: 3, title: "title" }),
        beyond(rows.filter((row) => row.value < 0), "end", -6),
        beyond(rows.filter((row) => row.value >= 0), "start", 6),
        Plot.ruleX([0], { stroke: "var(--muted)" }),
      ],
    };
  };
}
