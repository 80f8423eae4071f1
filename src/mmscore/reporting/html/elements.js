"use strict";
/* What the parts of the report share: panels, links to samples, choices. All data are in mm.data, see page.py. */
{
  const { el, text } = mm;
  const { report, labels, matrix } = mm.data;

  mm.several = report.entries.length > 1;
  mm.filterable = new Set(mm.page.filters.map((filter) => filter.name));
  const names = new Map(mm.data.names);
  /** Name a metric: some names say more than their keys in the JSON report. */
  mm.words = (name) => names.get(name) ?? name.replaceAll("_", " ");
  mm.entryOf = new Map(matrix.map(({ row, column }, place) => [`${row}\0${column}`, place]));

  /** Show the samples that filters leave, and go there. */
  mm.showSamples = (filters) => {
    mm.clear();
    for (const [name, value] of filters) mm.setFilter(name, value);
    document.getElementById("items").scrollIntoView({ behavior: "smooth" });
  };
  mm.link = (label, filters, name = null, kind = "link") =>
    text(el("button", { type: "button", class: kind, title: "Show these samples", "aria-label": name, onclick: () => mm.showSamples(filters) }), label);

  /** A panel that folds: its title, what it says in a few words, and its content. */
  mm.panel = (title, gist, content, { open = false, about = null } = {}) =>
    el("details", { class: "panel", open },
      el("summary", {}, text(el("h2", {}), title), gist ? text(el("span", { class: "gist" }), gist) : null),
      about ? text(el("p", { class: "about" }), about) : null, ...[content].flat());

  const ROOMS = { soon: "72rem", "": "90rem" }; // as in report.css
  mm.isWide = (room = "") => matchMedia(`(min-width: ${ROOMS[room]})`).matches;
  /** Two parts side by side where the window has room for both, else one below the other; `room`: "", "soon", "never". */
  mm.pair = (left, right, room = "") => el("div", { class: `pair ${room}` }, el("div", {}, left), el("div", {}, right));

  const select = (label, values, chosen, onchange) =>
    el("label", { class: "choice" }, text(el("span", {}), label),
      el("select", { onchange: (event) => onchange(event.target.value) },
        values.map((value) => text(el("option", { value, selected: value === chosen }), mm.words(value)))));

  /** Content that depends on what is chosen in its selects. */
  mm.choosing = (choices, draw) => {
    const chosen = Object.fromEntries(choices.map(({ name, values }) => [name, values()[0]]));
    const tools = el("div", { class: "choices" });
    const body = el("div");
    const redraw = () => {
      for (const { name, values } of choices) if (!values(chosen).includes(chosen[name])) chosen[name] = values(chosen)[0];
      tools.replaceChildren(
        ...choices.filter(({ values }) => values(chosen).length > 1).map(({ name, values }) =>
          select(name, values(chosen), chosen[name], (value) => {
            chosen[name] = value;
            redraw();
          })),
      );
      body.replaceChildren(...[draw(chosen)].flat());
    };
    redraw();
    return [tools, body];
  };

  mm.dot = (place) => {
    const mark = el("i", { class: "dot", "aria-hidden": "true" });
    mark.style.background = mm.colour(place);
    return mm.several ? mark : null;
  };
  mm.named = (what, place) => (mm.several ? `${what}: ${labels[place]}` : what);

  /** Metrics to choose from: the first of each result, where results call theirs otherwise, then those of any. */
  const MAIN = "first metric";
  const firsts = new Set(report.entries.map((entry) => Object.keys(entry.metrics)[0]).filter(Boolean));
  mm.metricNames = (held) => [...(firsts.size > 1 ? [MAIN] : []), ...new Set(held.flatMap((metrics) => Object.keys(metrics)))];
  mm.pick = (metrics, entry, name) => metrics[name === MAIN ? Object.keys(entry.metrics)[0] : name];

  /** A row of a chart: a group, a result, its metric. */
  mm.chartRow = (group, place, one, label) => ({
    group, series: place, value: one.value, low: one.ci95?.[0] ?? null, high: one.ci95?.[1] ?? null, shown: mm.plain(one.value, one.unit, one.n),
    title: `${label}: ${mm.metric(one.value, one.unit, one.n)}${one.ci95 ? `, 95 % ${mm.interval(one.ci95, one.unit, one.n)}` : ""}, n ${mm.number(one.n)}`,
    n: one.n, unit: one.unit, one,
  });
  mm.resultLegend = (rows) => {
    const shown = labels.map((_, place) => place).filter((place) => rows.some((row) => row.series === place));
    return mm.several ? mm.legend(shown.map((place) => labels[place]), shown.map(mm.colour)) : null;
  };

  /** Give a file to save, made on the page: nothing is fetched. */
  mm.download = (label, name, type, content) =>
    el("button", {
      type: "button", class: "save", "aria-label": `Save ${name}`, title: `Save ${name}`,
      onclick: () => {
        const url = URL.createObjectURL(new Blob([content()], { type }));
        el("a", { href: url, download: name }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      },
    }, label);
}
