"use strict";
/* The numbers above the table: cards, charts, comparisons. Everything is in mm.data, see mmscore/reporting/html/page.py. */
{
  const { el, text } = mm;
  const { report, labels, scores, rules, confusions, repeats, differences, gaps, columns } = mm.data;
  const entries = report.entries;
  const several = entries.length > 1;
  const FATES = ["scored", "excluded", "failed", "judge_failed", "missing", "rejected"];
  const ALPHA = 0.05;
  const MOST_LINES = 300;
  const words = (name) => name.replaceAll("_", " ");

  /** Show the rows that filters leave, and go there. */
  const showRows = (filters) => {
    mm.clear();
    for (const [name, value] of filters) mm.setFilter(name, value);
    document.getElementById("items").scrollIntoView({ behavior: "smooth" });
  };
  const link = (label, filters, name = null) =>
    text(el("button", { type: "button", class: "link", title: "Show these rows", "aria-label": name, onclick: () => showRows(filters) }), label);
  const filterable = new Set(mm.page.filters.map((filter) => filter.name));

  const panel = (title, about, ...content) =>
    el("section", { class: "panel" }, text(el("h2", {}), title), about ? text(el("p", { class: "about" }), about) : null, ...content);
  const select = (label, values, chosen, onchange) =>
    el("label", { class: "choice" }, text(el("span", {}), label),
      el("select", { onchange: (event) => onchange(event.target.value) },
        values.map((value) => text(el("option", { value, selected: value === chosen }), words(value)))));

  const dot = (place) => {
    const mark = el("i", { class: "dot", "aria-hidden": "true" });
    mark.style.background = mm.colour(place);
    return several ? mark : null;
  };

  const counts = (entry) => {
    const { total, unparsed } = entry.counts;
    const others = FATES.slice(1).filter((fate) => entry.counts[fate]);
    const part = (value, name, tone) => el("li", { class: tone }, el("data", { value: String(value) }, mm.number(value)), ` ${words(name)}`);
    return el("ul", { class: "tally" }, part(total, "rows", ""), part(entry.counts.scored, "scored", ""),
      unparsed ? part(unparsed, "unparsed", "warn") : null, others.map((fate) => part(entry.counts[fate], fate, fate === "excluded" ? "" : "bad")));
  };

  const about = (entry) => [
    ["Recipe", `${entry.recipe}@${entry.version}`], ["Whose number", entry.parity], ["Chosen because", entry.reason],
    ["Model", entry.model], ["Dataset", entry.dataset], ["Answers by", entry.method], ["File", entry.predictions], ["Signature", entry.signature],
  ].filter(([, value]) => value);

  const numbersOf = (label, numbers, unit) => {
    const mixed = numbers.some(([, one]) => one.unit !== unit);
    return mm.table(`Numbers of ${label}`, ["number", "value", "95 % interval", "n", ...(mixed ? ["unit"] : [])],
      numbers.map(([name, one]) => [words(name), mm.number95(one), mm.interval95(one), one.n, ...(mixed ? [one.unit] : [])]));
  };

  const card = (entry, place) => {
    const [[name, first] = [], ...others] = Object.entries(entry.metrics);
    return el("article", { class: "card", "aria-label": labels[place] },
      el("h2", {}, dot(place), text(el("span", { dir: "auto" }), labels[place])),
      first
        ? el("p", { class: "large" }, mm.number95(first), el("span", {}, ` ${words(name)}`))
        : el("p", { class: "large" }, el("span", {}, "no row is scored")),
      first ? el("p", { class: "about" }, first.ci95 ? `95 % interval ${mm.interval(first.ci95, first.unit)}, ` : "", `${mm.rowCount(first.n)}, ${first.unit}`) : null,
      entry.partial ? el("p", { class: "tag warn" }, "a part of the dataset only") : null,
      ...entry.notes.map((note) => text(el("p", { class: "tag warn" }), note)),
      counts(entry),
      others.length ? numbersOf(labels[place], others, first.unit) : null,
      el("details", {}, el("summary", {}, "What this number is"),
        el("dl", { class: "small" }, about(entry).map(([label, value]) => el("div", {}, el("dt", {}, label), text(el("dd", { dir: "auto" }), value))))),
      entry.messages.length
        ? el("details", {}, el("summary", {}, `Remarks (${entry.messages.length})`), el("ul", { class: "remarks" }, entry.messages.map((one) => text(el("li", {}), one))))
        : null);
  };

  const row = (group, place, one, label) => ({
    group, series: place, value: one.value, low: one.ci95?.[0] ?? null, high: one.ci95?.[1] ?? null, shown: mm.shownNumber(one.value, one.unit),
    title: `${label}: ${mm.shownNumber(one.value, one.unit)}${one.ci95 ? `, 95 % ${mm.interval(one.ci95, one.unit)}` : ""}, n ${mm.number(one.n)}`,
    n: one.n, unit: one.unit, one,
  });
  const colours = labels.map((_, place) => mm.colour(place));
  const legend = () => (several ? mm.legend(labels, colours) : null);
  /** Numbers to choose from: those of any result, and the first of each where results call theirs otherwise. */
  const MAIN = "first number";
  const firsts = new Set(entries.map((entry) => Object.keys(entry.metrics)[0]).filter(Boolean));
  const metricNames = (held) => [...(firsts.size > 1 ? [MAIN] : []), ...new Set(held.flatMap((metrics) => Object.keys(metrics)))];
  const pick = (metrics, entry, number) => metrics[number === MAIN ? Object.keys(entry.metrics)[0] : number];

  /** A panel whose content hangs on what is chosen in its selects. */
  const choosing = (title, note, choices, draw) => {
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
      body.replaceChildren(draw(chosen));
    };
    redraw();
    return panel(title, note, tools, body);
  };

  const sideBySide = () =>
    choosing("Side by side", "Whiskers are 95 % intervals.", [{ name: "number", values: () => metricNames(entries.map((entry) => entry.metrics)) }],
      ({ number }) => {
        const rows = entries.flatMap((entry, place) => {
          const one = pick(entry.metrics, entry, number);
          return one && one.value !== null ? [row(labels[place], place, one, labels[place])] : [];
        });
        if (!rows.length) return el("p", { class: "about" }, "No result has this number.");
        return el("div", {}, mm.byScale(rows).map(({ unit, rows: drawn }) =>
          mm.chart(words(number), mm.bars(drawn, drawn.map((one) => one.group), ["all"], unit),
            groupTable(`${words(number)} side by side`, "result", drawn))));
      });

  const groupTable = (caption, first, rows, linked = (one) => one.group) =>
    mm.table(caption, several && first !== "result" ? [first, "result", "value", "95 % interval", "n"] : [first, "value", "95 % interval", "n"],
      rows.slice(0, MOST_LINES).map((one) => [
        linked(one), ...(several && first !== "result" ? [labels[one.series]] : []),
        mm.number95(one.one), mm.interval95(one.one), one.n,
      ]));

  const byGroup = () => {
    const grouped = [...new Set(entries.flatMap((entry) => Object.keys(entry.groups)))].filter((column) =>
      entries.some((entry) => Object.keys(entry.groups[column] ?? {}).length > 1));
    if (!grouped.length) return null;
    const held = (column) => entries.flatMap((entry) => Object.values(entry.groups[column] ?? {}));
    return choosing("By category", "Whiskers are 95 % intervals. A bar shows its rows below.",
      [{ name: "by", values: () => grouped }, { name: "number", values: (chosen) => metricNames(held(chosen?.by ?? grouped[0])) }],
      ({ by, number }) => {
        const every = entries.flatMap((entry, place) =>
          Object.entries(entry.groups[by] ?? {}).flatMap(([group, metrics]) => {
            const one = pick(metrics, entry, number);
            return one && one.value !== null ? [row(group, place, one, several ? `${group}, ${labels[place]}` : group)] : [];
          }));
        const sizes = new Map();
        for (const one of every) sizes.set(one.group, Math.max(sizes.get(one.group) ?? 0, one.n));
        const groups = [...sizes.keys()];
        const kept = groups.length > mm.MOST_GROUPS ? new Set([...groups].sort((a, b) => sizes.get(b) - sizes.get(a)).slice(0, mm.MOST_GROUPS)) : sizes;
        const rows = every.filter((one) => kept.has(one.group));
        const show = (one) => [[by, one.group]];
        const linked = (one) => (filterable.has(by) ? link(one.group || "(none)", show(one)) : one.group);
        const told = every.length > MOST_LINES ? `the table has ${MOST_LINES} lines of ${mm.number(every.length)}, the JSON report all` : "the table has all";
        return el("div", {},
          groups.length > kept.size ? el("p", { class: "about" }, `The ${kept.size} largest of ${mm.number(groups.length)} groups; ${told}.`) : null,
          mm.byScale(rows).map(({ unit, rows: drawn }) =>
            mm.chart(`${words(number)} by ${words(by)}`, mm.bars(drawn, groups.filter((group) => kept.has(group)), several ? labels : ["all"], unit),
              groupTable(`${words(number)} by ${words(by)}`, words(by), every.filter((one) => drawn.some(({ unit: own }) => own === one.unit)), linked),
              { legend: legend(), click: filterable.has(by) ? (place) => showRows(show(drawn[place])) : null })));
      });
  };

  const pValue = (p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(4));
  const verdict = (p, value) => (p === null ? "not tested" : p < ALPHA ? (value > 0 ? "higher" : "lower") : "no clear difference");
  // Where all are held against one, its name is said once.
  const oneBase = new Set(differences.map(({ a }) => a)).size === 1;
  /** Name a pair by what differs, and once by what does not: `b − a · recipe`. */
  const pairLabel = (a, b) => {
    if (oneBase) return labels[b];
    const [left, right] = [labels[a].split(" · "), labels[b].split(" · ")];
    const same = [];
    while (left.length > 1 && right.length > 1 && left.at(-1) === right.at(-1)) same.unshift([left.pop(), right.pop()][0]);
    return [`${right.join(" · ")} − ${left.join(" · ")}`, ...same].join(" · ");
  };
  const tested = (told, a, b) => {
    const p = told.p_holm ?? told.p;
    const [low, high] = told.ci95 ?? [null, null];
    return { label: pairLabel(a, b), a, b, told, p, value: told.difference, low, high, sure: p !== null && p < ALPHA };
  };

  const differing = () => {
    if (!differences.length) return null;
    const kinds = new Map();
    for (const { a, b, scores: own, metrics } of differences)
      for (const [name, told] of [...Object.entries(own), ...Object.entries(metrics).filter(([one, number]) => !(one in own) && number.p !== null)]) {
        if (!kinds.has(name)) kinds.set(name, []);
        kinds.get(name).push(tested(told, a, b));
      }
    const base = oneBase ? `${differences.length === 1 ? labels[differences[0].b] : "Each"} minus ${labels[differences[0].a]}. ` : "";
    const lacking = differences.map(({ a, b, rows }) => [pairLabel(a, b), rows.compared, rows.only_a, rows.only_b, rows.unscored, rows.unlike]);
    return choosing("Is the difference more than chance?", `${base}Row by row, over the rows that both have a score for; 95 % intervals.${differences.length > 1 ? " p-values are adjusted for the number of pairs (Holm)." : ""}`,
      [{ name: "number", values: () => [...kinds.keys()] }],
      ({ number }) => {
        const rows = kinds.get(number).map((one) => ({
          ...one, unit: one.told.unit ?? "fraction", shown: mm.signed(one.value, one.told.unit), title: `${labels[one.b]} − ${labels[one.a]}: ${mm.signed(one.value, one.told.unit)}, p ${pValue(one.p)}`,
        }));
        const lines = rows.map((one) => [
          one.label, el("data", { value: String(one.value) }, one.shown), mm.interval95({ ci95: one.told.ci95, unit: one.told.unit }),
          el("span", { class: "span" }, pValue(one.p)), el("span", { class: "span" }, one.told.mcnemar ? `${mm.number(one.told.mcnemar.only_b)} : ${mm.number(one.told.mcnemar.only_a)}` : ""),
          el("span", { class: `tag ${one.sure ? "good" : ""}` }, verdict(one.p, one.value)),
        ]);
        const tests = [...new Set(rows.map((one) => one.told.test).filter(Boolean))].join(", ");
        return el("div", {},
          mm.byScale(rows).map(({ unit, rows: drawn }) => mm.chart(`Difference in ${words(number)}`, mm.forest(drawn, unit),
            mm.table("Rows of each pair", ["pair", "compared", "only in the second", "only in the first", "without a score", "of other references"], lacking))),
          mm.table(`Differences of ${words(number)}`, ["pair", "difference", "95 % interval", "p", "gained : lost", "says"], lines),
          el("p", { class: "about" }, tests ? `p: ${tests}. Gained and lost: rows that one of the two alone got right.` : `No test: ${rows[0].told.why_no_p}.`),
          filterable.has("models disagree") ? el("p", {}, link("Show the rows in which models disagree", [["models disagree", true]])) : null);
      });
  };

  const gapPanel = ({ a, b, scores: [nameA, nameB], gap }) => {
    const pairs = gap.pairs.filter((pair) => pair.changed);
    const show = (pair) => [[columns[a].rule, pair.how_a], [columns[b].rule, pair.how_b], ["recipes disagree", true]];
    const rows = pairs.slice(0, 12).map((pair) => ({
      label: pair.how_a === pair.how_b ? pair.how_a : `${pair.how_a} → ${pair.how_b}`, value: pair.contribution, shown: mm.signed(pair.contribution),
      title: `${pair.how_a} in ${labels[a]}, ${pair.how_b} in ${labels[b]}: ${mm.number(pair.changed)} of ${mm.number(pair.rows)} rows changed`,
    }));
    const lines = gap.pairs.map((pair) => [
      pair.how_a, pair.how_b, pair.rows, pair.changed ? link(mm.number(pair.changed), show(pair), `${pair.changed} rows that changed, show them`) : 0,
      el("data", { value: String(pair.contribution) }, mm.signed(pair.contribution)), pair.sum_a, pair.sum_b,
    ]);
    for (const [alone, place] of [[gap.only_a, a], [gap.only_b, b]])
      if (alone.rows) lines.push([`scored by ${labels[place]} alone`, "", alone.rows, "", el("data", { value: String(alone.contribution) }, mm.signed(alone.contribution)), "", ""]);
    const changed = pairs.reduce((sum, pair) => sum + pair.changed, 0);
    const named = nameA === nameB ? words(nameA) : `${words(nameB)} − ${words(nameA)}`;
    return panel(`${labels[b]} against ${labels[a]}`,
      `The same replies, ${named} ${mm.signed(gap.difference)}: ${mm.number(changed)} of ${mm.number(gap.rows)} rows get another score. By the rule that read the reply in each recipe:`,
      rows.length ? mm.chart("What each pair of rules adds to the difference", mm.contributions(rows), el("div"), {}) : null,
      mm.table("Rules that explain the difference", [`rule in ${labels[a]}`, `rule in ${labels[b]}`, "rows", "changed", "adds", "credit before", "after"], lines),
      changed ? el("p", {}, link("Show the rows on which recipes disagree", [["recipes disagree", true]])) : null);
  };

  const named = (what, place) => (several ? `${what}, ${labels[place]}` : what);
  const heat = (share, right) => `color-mix(in oklab, var(${right ? "--good" : "--bad"}) ${Math.round(share * 55)}%, transparent)`;
  const confusionOf = (found, place) => {
    const { references, readings, counts: lines, kind } = found;
    const known = (word) => word !== "others";
    const body = references.map((reference, line) => {
      const total = lines[line].reduce((sum, count) => sum + count, 0);
      return el("tr", {}, text(el("th", { scope: "row" }), reference), readings.map((reading, column) => {
        const count = lines[line][column];
        const at = el("td", { class: "col-number" });
        at.style.background = count ? heat(count / total, reading === reference) : "";
        const filters = [["reference", reference], [columns[place].read, reading]];
        at.append(count && known(reference) && known(reading) ? link(mm.number(count), filters, `reference ${reference}, read as ${reading}: ${count} rows`) : mm.number(count));
        return at;
      }), el("td", { class: "col-number total" }, mm.number(total)));
    });
    return el("figure", { class: "chart" },
      el("figcaption", {}, dot(place), text(el("span", { dir: "auto" }), named("Reference down, what was read across", place))),
      el("div", { class: "sheet matrix" }, el("table", { "data-kind": kind },
        text(el("caption", { class: "spoken" }), `Confusion matrix of ${labels[place]}: references in rows, what was read in columns`),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "reference \\ read"), readings.map((one) => text(el("th", { scope: "col" }), one)), el("th", { scope: "col" }, "rows"))),
        el("tbody", {}, body))));
  };

  const rulesOf = (found, place) => {
    const rows = found.slice(0, 15).map((rule) => ({
      ...rule, label: rule.how, title: `${rule.how}: ${mm.number(rule.rows)} rows, mean ${words(scores[place] ?? "score")} ${mm.shownNumber(rule.total / rule.rows)}`,
    }));
    const lines = found.map((rule) => [
      filterable.has(columns[place].rule) ? link(rule.how, [[columns[place].rule, rule.how]]) : rule.how, rule.rows, mm.shownNumber(rule.total / rule.rows),
    ]);
    return el("div", {},
      mm.chart(named("Rows by the rule that read them", place), mm.counts(rows, place), mm.table("Rows by rule", ["rule", "rows", `mean ${words(scores[place] ?? "score")}`], lines),
        { click: (number) => showRows([[columns[place].rule, rows[number].how]]) }));
  };

  const FATE_COLOURS = { right: "var(--series-1)", scored: "var(--series-1)", unparsed: "var(--series-3)", excluded: "var(--series-soft)", failed: "var(--bad)", judge_failed: "var(--series-4)", missing: "var(--muted)", rejected: "var(--series-6)" };
  const fates = () => {
    // Unparsed rows are a part of the scored ones, or of those left out: shown apart, taken off there.
    const parts = entries.map(({ counts: own }) => {
      const inside = Math.min(own.unparsed, own.scored);
      return { scored: own.scored - inside, unparsed: own.unparsed, excluded: own.excluded - (own.unparsed - inside), ...Object.fromEntries(FATES.slice(2).map((fate) => [fate, own[fate]])) };
    });
    const names = ["scored", "unparsed", ...FATES.slice(1)].filter((name) => parts.some((own) => own[name]));
    const rows = parts.flatMap((own, place) => names.filter((name) => own[name]).map((name) => ({ label: labels[place], name, count: own[name], title: `${labels[place]}: ${mm.number(own[name])} ${words(name)}` })));
    const drawn = (width) => ({
      marginBottom: 40, height: entries.length * 34 + 54, marginLeft: several ? Math.min(220, width / 3) : 8, marginRight: 16, marginTop: 4,
      x: { label: "rows", labelAnchor: "center", labelArrow: "none", grid: true, ticks: mm.wholeTicks(entries.map((entry) => entry.counts.total)) },
      y: { domain: labels, label: null, axis: several ? "left" : null, tickSize: 0, padding: 0.25, tickFormat: (label) => (label.length > 28 ? `${label.slice(0, 27)}…` : label) },
      marks: [
        Plot.barX(rows, { x: "count", y: "label", fill: (one) => FATE_COLOURS[one.name], title: "title", insetRight: 1 }),
        Plot.text(rows, Plot.stackX({ x: "count", y: "label", text: (one) => (one.count / entries[labels.indexOf(one.label)].counts.total > 0.08 ? mm.number(one.count) : ""), fill: "var(--on-bar)", fontWeight: 600 })),
      ],
    });
    return panel("What became of the rows", null,
      mm.chart("Rows by status", drawn, mm.table("Rows by status", ["result", "total", ...["scored", "unparsed", ...FATES.slice(1)].map(words)],
        entries.map(({ counts: own }, place) => [labels[place], own.total, own.scored, own.unparsed, ...FATES.slice(1).map((fate) => own[fate])])),
      { legend: mm.legend(names.map((name) => (name === "scored" ? "scored and read" : words(name))), names.map((name) => FATE_COLOURS[name])) }));
  };

  const repeatsOf = (found, place) => {
    const rows = found.right.map(([replies, right, questions]) => ({
      label: `${right} of ${replies}`, rows: questions, total: right === replies ? questions : 0, title: `${mm.number(questions)} questions with ${right} of ${replies} replies right`,
    }));
    const drawn = (width) => {
      const options = mm.counts(rows, place)(width);
      return { ...options, x: { ...options.x, label: "questions" } };
    };
    return el("div", {},
      el("ul", { class: "tally" },
        el("li", {}, `${mm.number(found.questions)} questions, ${mm.number(found.replies)} replies`),
        el("li", {}, el("data", { value: String(found.alike) }, mm.shownNumber(found.alike / found.questions)), " always say the same"),
        el("li", {}, el("data", { value: String(found.entropy) }, mm.shownNumber(found.entropy)), " mean entropy")),
      mm.chart(named("Questions by how many of their replies are right", place), drawn,
        mm.table("Questions by right replies", ["right replies", "questions"], rows.map((one) => [one.label, one.rows]))));
  };

  /** The heading of a framework's own table; where rows have no score it covers the others only. */
  const tableTitle = ({ parity, counts }) => {
    const unscored = counts.failed + counts.judge_failed + counts.missing + counts.rejected;
    return `Table as ${parity.split(", ")[0].split(" (")[0]} prints it${unscored ? `, over ${counts.total - unscored} of ${counts.total} rows` : ""}`;
  };

  const kitTable = (entry, place) => {
    const heads = [...new Set(entry.table.flatMap((line) => Object.keys(line)))];
    const shown = (value) => (typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(4) : value === null || value === undefined ? "" : String(value));
    return el("details", {}, text(el("summary", {}), several ? labels[place] : "Table"),
      mm.table(tableTitle(entry), heads, entry.table.map((line) => heads.map((head) => shown(line[head])))));
  };

  /** One part for each result that has it, side by side. */
  const each = (held, make) => held.flatMap((found, place) => (found && (!Array.isArray(found) || found.length) ? [make(found, place)] : []));
  const grid = (parts) => el("div", { class: "grid" }, parts);
  const summary = document.getElementById("summary");
  const matrices = each(confusions, confusionOf);
  const repeated = each(repeats, repeatsOf);
  const read = each(rules, rulesOf);
  const tables = entries.flatMap((entry, place) => (entry.table.length ? [kitTable(entry, place)] : []));
  const panels = [
    several ? sideBySide() : null,
    byGroup(),
    differing(),
    ...gaps.map(gapPanel),
    matrices.length ? panel("Reference against reading", "The share of each line gives the colour. A number shows its rows below.", grid(matrices)) : null,
    read.length ? panel("How replies were read", "Rows by the rule that fired; the dark part is their credit.", grid(read)) : null,
    fates(),
    repeated.length ? panel("The same question several times", "Copies, rotations of options, or several replies: how far they agree. The dark bar is always right.", grid(repeated)) : null,
    tables.length ? panel("Tables as the frameworks print them", null, tables) : null,
  ].filter(Boolean);
  const cards = entries.map(card);
  // One card alone is a panel among others.
  summary.append(el("div", { class: "cards" }, several ? cards : []), el("div", { class: "panels" }, several ? panels : [...cards, ...panels]));
}
