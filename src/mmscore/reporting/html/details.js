"use strict";
/* What stands folded below: confusion matrices, parsing rules, response length, row status, repeats, settings. */
{
  const { el, text } = mm;
  const { report, labels, scores, rules, confusions, repeats, lengths, runs } = mm.data;
  const entries = report.entries;
  const STATUSES = ["scored", "excluded", "failed", "judge_failed", "missing", "rejected"];
  const STATUS_COLOURS = { scored: "var(--series-1)", unparsed: "var(--series-3)", excluded: "var(--series-soft)", failed: "var(--bad)", judge_failed: "var(--series-4)", missing: "var(--muted)", rejected: "var(--series-6)" };
  const MAX_RULES = 15;
  const WIDE = 60; // characters of a value that takes a line of its own

  /** One part for each result that has it, side by side. */
  const each = (held, make) => held.flatMap((found, place) => (found && (!Array.isArray(found) || found.length) ? [make(found, place)] : []));
  const LEAST_PART = 448; // pixels
  const grid = (parts) => mm.fillRows(el("div", { class: "grid" }, parts), LEAST_PART);

  const heat = (share, correct) => `color-mix(in oklab, var(${correct ? "--good" : "--bad"}) ${Math.round(share * 40)}%, var(--paper))`;
  const confusionOf = (found, place) => {
    const { references, readings, counts: lines, kind } = found;
    const known = (word) => word !== "others";
    const body = references.map((reference, line) => {
      const total = lines[line].reduce((sum, count) => sum + count, 0);
      return el("tr", {}, text(el("th", { scope: "row" }), reference), readings.map((reading, column) => {
        const count = lines[line][column];
        const at = el("td", { class: "col-number", "data-label": reading });
        at.style.background = count ? heat(count / total, reading === reference) : "";
        const filters = [["reference", reference], [mm.parsedColumn(place), reading]];
        at.append(count && known(reference) && known(reading) ? mm.link(mm.number(count), filters, `reference ${reference}, parsed answer ${reading}: ${mm.samples(count)}`) : mm.number(count));
        return at;
      }), el("td", { class: "col-number total", "data-label": "all" }, mm.number(total)));
    });
    return el("figure", { class: "chart" },
      mm.several ? el("figcaption", {}, mm.dot(place), text(el("span", { dir: "auto" }), labels[place])) : null,
      mm.sheet(el("table", { "data-kind": kind },
        text(el("caption", { class: "spoken" }), `Confusion matrix of ${labels[place]}; rows: reference, columns: parsed answer`),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "reference"), readings.map((one) => text(el("th", { scope: "col" }), one)), el("th", { scope: "col" }, "all"))),
        el("tbody", {}, body)), "matrix"));
  };

  const rulesOf = (found, place) => {
    const score = mm.words(scores[place] ?? "score");
    const mean = (rule) => mm.metric(rule.total / rule.rows, "fraction", rule.rows);
    const rows = found.slice(0, MAX_RULES).map((rule) => ({ ...rule, label: rule.how, title: `${rule.how}: ${mm.samples(rule.rows)}, mean ${score} ${mean(rule)}` }));
    const column = mm.ruleColumn(place);
    const lines = found.map((rule) => [mm.filterable.has(column) ? mm.link(rule.how, [[column, rule.how]]) : rule.how, rule.rows, mean(rule)]);
    return mm.chart(mm.named("Samples by parsing rule", place), mm.counts(rows, place), mm.table("Samples by parsing rule", ["rule", "samples", `mean ${score}`], lines),
      { beside: !mm.several, click: (number) => mm.showSamples([[column, rows[number].how]]) });
  };

  const statusPanel = () => {
    // Unparsed samples are a part of the scored ones, or of those left out: shown apart, taken off there.
    const parts = entries.map(({ counts: own }) => {
      const inside = Math.min(own.unparsed, own.scored);
      return { scored: own.scored - inside, unparsed: own.unparsed, excluded: own.excluded - (own.unparsed - inside), ...Object.fromEntries(STATUSES.slice(2).map((status) => [status, own[status]])) };
    });
    const names = ["scored", "unparsed", ...STATUSES.slice(1)].filter((name) => parts.some((own) => own[name]));
    const rows = parts.flatMap((own, place) => names.filter((name) => own[name]).map((name) => ({ label: labels[place], name, count: own[name], title: `${labels[place]}: ${mm.number(own[name])} ${mm.words(name)}` })));
    const drawn = (width) => {
      const { margin, tick } = mm.fitLabels(labels, width);
      return {
      marginBottom: 40, height: entries.length * 34 + 54, marginLeft: mm.several ? margin : 8, marginRight: 16, marginTop: 4,
      x: { label: "samples", labelAnchor: "center", labelArrow: "none", grid: true, ticks: mm.wholeTicks(entries.map((entry) => entry.counts.total)) },
      y: { domain: labels, label: null, axis: mm.several ? "left" : null, tickSize: 0, padding: 0.25, tickFormat: tick },
      marks: [
        Plot.barX(rows, { x: "count", y: "label", fill: (one) => STATUS_COLOURS[one.name], title: "title", insetRight: 1 }),
        Plot.text(rows, Plot.stackX({ x: "count", y: "label", text: (one) => (one.count / entries[labels.indexOf(one.label)].counts.total > 0.12 ? mm.number(one.count) : ""), fill: "var(--on-bar)", fontWeight: 600 })),
      ],
      };
    };
    const heads = ["scored", "unparsed", ...STATUSES.slice(1)];
    const table = mm.table("Row status", ["result", "total", ...heads.map(mm.words)],
      entries.map(({ counts: own }, place) => [labels[place], own.total, own.scored, own.unparsed, ...STATUSES.slice(1).map((status) => own[status])]));
    const legend = mm.legend(names.map((name) => (name === "scored" ? "scored and parsed" : mm.words(name))), names.map((name) => STATUS_COLOURS[name]));
    const gist = names.map((name) => `${mm.number(Math.max(...parts.map((own) => own[name])))} ${mm.words(name)}`).join(", ");
    return mm.panel("Row status (scored, unparsed, failed, missing)", mm.several ? null : gist, mm.chart("Samples by status", drawn, table, { legend, beside: true }));
  };

  const spanOf = ({ low, high }) => (low === high ? mm.number(low) : `${mm.number(low)} to ${mm.number(high)}`);
  const lengthPanel = () => {
    const rows = lengths.flatMap((bins, place) => bins.map((bin) => ({
      ...bin, series: place, value: bin.mean * 100, bottom: bin.ci95 ? bin.ci95[0] * 100 : null, top: bin.ci95 ? bin.ci95[1] * 100 : null,
      title: `${mm.named("", place).replace(/^: /, "")} ${spanOf(bin)} characters: ${mm.metric(bin.mean, "fraction", bin.n)}, n ${mm.number(bin.n)}`.trim(),
    })));
    if (!rows.length) return null;
    const drawn = (width) => ({
      height: 280, marginLeft: 48, marginRight: 24, marginBottom: 44, marginTop: 28,
      x: { label: "characters of the response", labelAnchor: "center", labelArrow: "none", type: "symlog", ticks: Math.max(2, Math.min(6, Math.floor(width / 110))), tickFormat: (value) => mm.number(Math.round(value)) },
      y: { label: "mean score, %", domain: [0, Math.max(100, ...rows.map((row) => row.top ?? row.value))], grid: true, ticks: 5, labelArrow: "none" },
      marks: [
        Plot.ruleX(rows.filter((row) => row.bottom !== null), { x: "median", y1: "bottom", y2: "top", stroke: (row) => mm.colour(row.series), strokeWidth: 1.5, strokeOpacity: 0.6 }),
        Plot.lineY(rows, { x: "median", y: "value", z: "series", stroke: (row) => mm.colour(row.series), strokeWidth: 2 }),
        Plot.dot(rows, { x: "median", y: "value", fill: (row) => mm.colour(row.series), r: 4, title: "title" }),
      ],
    });
    const table = mm.table("Score by response length", [...(mm.several ? ["result"] : []), "characters", "mean score", "95 % interval", "n"],
      rows.map((row) => [...(mm.several ? [labels[row.series]] : []), spanOf(row), mm.metric(row.mean, "fraction", row.n), mm.interval(row.ci95, "fraction", row.n), row.n]));
    return mm.panel("Response length and score", "mean score of responses of like length", mm.chart("Mean score by response length", drawn, table, { legend: mm.resultLegend(rows), beside: true }));
  };

  const repeatsOf = (found, place) => {
    const rows = found.right.map(([responses, correct, questions]) => ({
      label: `${correct} of ${responses}`, rows: questions, total: correct === responses ? questions : 0, title: `${mm.number(questions)} questions with ${correct} of ${responses} responses correct`,
    }));
    const drawn = (width) => {
      const options = mm.counts(rows, place)(width);
      return { ...options, x: { ...options.x, label: "questions" } };
    };
    return el("div", {},
      el("ul", { class: "tally" },
        el("li", {}, `${mm.number(found.questions)} questions, ${mm.number(found.replies)} responses`),
        el("li", {}, el("data", { value: String(found.alike) }, mm.metric(found.alike / found.questions, "fraction", found.questions)), " always agree"),
        el("li", {}, el("data", { value: String(found.entropy) }, mm.number(found.entropy)), " mean entropy")),
      mm.chart(mm.named("Questions by how many of their responses are correct", place), drawn,
        mm.table("Questions by correct responses", ["correct responses", "questions"], rows.map((one) => [one.label, one.rows]))));
  };

  /** The heading of a framework's own table; where samples have no score it covers the others only. */
  const tableTitle = ({ parity, counts }) => {
    const unscored = counts.failed + counts.judge_failed + counts.missing + counts.rejected;
    return `Table as ${parity.split(", ")[0].split(" (")[0]} prints it${unscored ? `, over ${counts.total - unscored} of ${mm.samples(counts.total)}` : ""}`;
  };
  const frameworkTable = (entry, place) => {
    const heads = [...new Set(entry.table.flatMap((line) => Object.keys(line)))];
    const shown = (value) => (typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value === null || value === undefined ? "–" : String(value));
    return el("div", {}, text(el("h3", {}), mm.named(tableTitle(entry), place)),
      mm.table(tableTitle(entry), heads, entry.table.map((line) => heads.map((head) => shown(line[head])))));
  };

  const facts = (pairs) => el("dl", { class: "small" }, pairs.map(([label, value]) => el("div", { class: value.length > WIDE ? "wide" : null }, text(el("dt", {}), label), text(el("dd", { dir: "auto" }), value))));
  const duration = (seconds) => (seconds < 60 ? `${mm.number(Math.round(seconds * 10) / 10)} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`);
  const usage = (run) => [
    ...Object.entries(run.tokens).map(([name, count]) => [mm.words(name), `${mm.number(count)} (${mm.number(Math.round(count / run.counted))} a sample)`]),
    ...(run.seconds === null ? [] : [["time", duration(run.seconds)]]),
    ...(run.cost === null ? [] : [["cost", mm.number(run.cost)]]),
  ];
  const runOf = (run) =>
    el("section", { class: "run" }, text(el("h3", { dir: "auto" }), run.model),
      facts([["predictions", run.file], ...usage(run), ...Object.entries(run.settings)]));
  const about = (entry) => [
    ["Recipe", `${entry.recipe}@${entry.version}`], ["Reproduces", entry.parity === "own" ? "built in" : entry.parity], ["Recipe chosen", entry.reason.replace("asked for", "given by --recipe")],
    ["Model", entry.model], ["Dataset", entry.dataset], ["Responses by", entry.method], ["Predictions", entry.predictions], ["Signature", entry.signature],
  ].filter(([, value]) => value);
  const settingsPanel = () => {
    const messages = entries.map((entry, place) => [entry.messages, place]).filter(([list]) => list.length);
    const sum = (values) => values.reduce((one, other) => one + other, 0);
    const tokens = sum(runs.flatMap((run) => Object.values(run.tokens)));
    const [seconds, cost] = ["seconds", "cost"].map((what) => (runs.some((run) => run[what] !== null) ? sum(runs.map((run) => run[what] ?? 0)) : null));
    const gist = [tokens ? `${mm.number(tokens)} tokens` : null, seconds === null ? null : duration(seconds), cost === null ? null : `cost ${mm.number(cost)}`].filter(Boolean);
    return mm.panel("Runs and settings", gist.join(" · ") || "models, recipes", mm.fillRows(el("div", { class: "runs" },
      ...runs.map(runOf),
      ...entries.map((entry, place) => el("section", { class: "run" }, text(el("h3", { dir: "auto" }), mm.named("Score", place)), facts(about(entry)))),
      ...messages.map(([list, place]) => el("section", { class: "run" }, text(el("h3", { dir: "auto" }), mm.named("Notes", place)), el("ul", { class: "remarks" }, list.map((one) => text(el("li", {}), one)))))), LEAST_PART));
  };

  /** The folded panels, in their order; none is empty. */
  mm.detailPanels = () => {
    const matrices = each(confusions, confusionOf);
    const parsed = each(rules, rulesOf);
    const repeated = each(repeats, repeatsOf);
    const tables = entries.flatMap((entry, place) => (entry.table.length ? [frameworkTable(entry, place)] : []));
    return [
      matrices.length ? mm.panel("Confusion matrix (rows: reference, columns: parsed answer)", null, grid(matrices), { about: "A stronger colour is a larger share of its row. A count shows its samples." }) : null,
      parsed.length ? mm.panel("How responses were parsed", "samples by parsing rule, dark = correct", grid(parsed)) : null,
      lengthPanel(),
      statusPanel(),
      repeated.length ? mm.panel("Repeated questions", "copies, rotated options, several responses; dark = always correct", grid(repeated)) : null,
      tables.length ? mm.panel("Tables as the frameworks print them", null, tables) : null,
      settingsPanel(),
    ].filter(Boolean);
  };
}
