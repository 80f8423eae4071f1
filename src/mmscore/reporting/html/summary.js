"use strict";
/* The head of the report: one matrix of all scores, the verdict as a sentence, and what to look at first. */
{
  const { el, text } = mm;
  const { report, labels, matrix, differences, gaps, csv, runs, command } = mm.data;
  const entries = report.entries;
  const ALPHA = 0.05;
  const OPEN_VERDICTS = 3;
  const STATUSES = ["failed", "judge_failed", "missing", "rejected", "excluded"];

  const rows = [...new Set(matrix.map((cell) => cell.row))];
  const columns = [...new Set(matrix.map((cell) => cell.column))];
  // One model under many recipes reads better from top to bottom.
  const turned = rows.length === 1 && columns.length > 1;
  const [lines, heads] = turned ? [columns, rows] : [rows, columns];
  const placeOf = (line, head) => mm.entryOf.get(turned ? `${head}\0${line}` : `${line}\0${head}`);

  const first = (entry) => Object.entries(entry.metrics)[0] ?? [null, null];
  const better = (entry) => first(entry)[1]?.higher_is_better !== false;
  const bestOf = (places) => {
    const valued = places.filter((place) => place !== undefined && Number.isFinite(first(entries[place])[1]?.value ?? NaN));
    if (valued.length < 2) return new Set();
    const value = (place) => first(entries[place])[1].value * (better(entries[place]) ? 1 : -1);
    const most = Math.max(...valued.map(value));
    const found = valued.filter((place) => value(place) === most);
    return new Set(found.length < valued.length ? found : []);
  };
  // Recipes measure differently: the best is among models under one recipe.
  const best = new Set(turned ? [] : heads.flatMap((head) => [...bestOf(lines.map((line) => placeOf(line, head)))]));

  const halfWidth = ({ ci95, unit, n }) => (ci95 ? ` ± ${mm.plain((ci95[1] - ci95[0]) / 2, unit, n)}` : "");
  const scoreCell = (place) => {
    if (place === undefined) return el("span", { class: "nothing" }, "not scored");
    const entry = entries[place];
    const [name, one] = first(entry);
    if (!one) return el("div", { class: "score" }, el("strong", {}, "–"), el("small", {}, "no sample is scored"));
    const counted = [`n ${mm.number(one.n)}`, `${mm.number(entry.counts.unparsed)} unparsed`];
    const lacking = STATUSES.filter((status) => entry.counts[status]).map((status) => `${mm.number(entry.counts[status])} ${mm.words(status)}`);
    return el("div", { class: `score ${best.has(place) ? "best" : ""}` },
      el("span", { class: "value" }, mm.metric95(one), el("span", { class: "half" }, halfWidth(one)), best.has(place) ? el("span", { class: "tag good" }, "best") : null),
      el("small", {}, `${mm.words(name)}${one.ci95 ? `, 95 % ${mm.interval(one.ci95, one.unit, one.n)}` : ""}`),
      el("small", {}, counted.join(" · "), lacking.length ? el("span", { class: "lacking" }, ` · ${lacking.join(" · ")}`) : null,
        entry.partial ? el("span", { class: "lacking" }, " · part of the dataset") : null));
  };

  const GENERATION = "generation.";
  /** Say how the responses of some results were generated, where their files state it. */
  const optionsOf = (places) => {
    const own = runs.filter((run) => places.some((place) => run.results.includes(place)));
    const told = new Set(own.flatMap(({ settings }) => [
      ...Object.entries(settings).filter(([name]) => name.startsWith(GENERATION)).map(([name, value]) => `${mm.words(name.slice(GENERATION.length))} ${value}`),
      ...(Number(settings.n) > 1 ? [`${settings.n} responses a sample`] : []),
    ]));
    return told.size ? text(el("small", { class: "options" }), [...told].join(" · ")) : null;
  };

  const summaryTable = () => {
    let sorted = null;
    const body = el("tbody");
    const fill = () => {
      const value = (line) => first(entries[placeOf(line, sorted.head)] ?? { metrics: {} })[1]?.value ?? -Infinity;
      const order = sorted === null ? lines : sorted.head === null
        ? [...lines].sort((a, b) => sorted.sign * a.localeCompare(b, "en", { numeric: true }))
        : [...lines].sort((a, b) => sorted.sign * (value(a) - value(b)));
      body.replaceChildren(...order.map((line) =>
        el("tr", {}, el("th", { scope: "row" }, text(el("span", { dir: "auto" }), line), turned ? null : optionsOf(heads.map((head) => placeOf(line, head)))),
          heads.map((head) => el("td", { "data-label": head }, scoreCell(placeOf(line, head)))))));
    };
    const head = (label, key, falling) => {
      const button = el("button", { type: "button", title: "Sort" }, text(el("span", { dir: "auto" }), label));
      const cell = el("th", { scope: "col" }, button, turned && key !== null ? optionsOf(lines.map((line) => placeOf(line, key))) : null);
      button.addEventListener("click", () => {
        const sign = sorted?.head === key ? -sorted.sign : falling ? -1 : 1;
        sorted = { head: key, sign };
        for (const other of cell.parentElement.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        fill();
      });
      return cell;
    };
    fill();
    return mm.sheet(el("table", { class: "scores" },
      el("caption", { class: "spoken" }, "Scores with their 95 % intervals"),
      el("thead", {}, el("tr", {}, head(turned ? "Recipe" : "Model", null, false), heads.map((one) => head(one, one, true)))), body), "summary-matrix");
  };

  const pValue = (p) => (p === null ? "not tested" : p < 0.001 ? "p < 0.001" : `p = ${p.toPrecision(2)}`);
  mm.pValue = pValue;
  /** The metric that decides a comparison: the first score that both sides have. */
  const primary = ({ scores, metrics }) => Object.entries(scores)[0] ?? Object.entries(metrics).find(([, one]) => one.p !== null) ?? [null, null];
  mm.verdictOf = (pair) => {
    const [name, told] = primary(pair);
    if (!told) return null;
    const { a, b } = pair;
    const p = told.p_holm ?? told.p;
    const unit = told.unit ?? "fraction";
    const isHigher = told.difference > 0;
    const [winner, loser] = isHigher === (entries[b].metrics[name]?.higher_is_better !== false) ? [b, a] : [a, b];
    const [left, right] = [b, a].map((place) => matrix[place].row);
    const under = columns.length > 1 ? ` under ${matrix[a].column}` : "";
    const difference = mm.signed(told.difference, unit, told.n);
    const tested = (sign) => {
      const ends = told.ci95 && (sign > 0 ? told.ci95 : [-told.ci95[1], -told.ci95[0]]);
      return `${mm.signed(sign * told.difference, unit, told.n)}${ends ? `, 95\u00a0% ${mm.interval(ends, unit, told.n)}` : ""}, ${pValue(p).replaceAll(" ", "\u00a0")}`;
    };
    if (p === null) return { sure: false, sentence: `Not tested${under}: ${left} minus ${right} ${difference}${told.why_no_p ? ` (${told.why_no_p})` : ""}.` };
    if (p >= ALPHA) return { sure: false, sentence: `No clear difference${under}: ${left} minus ${right} ${tested(1)}.` };
    // The sentence is about the better one, so the difference is its own: better minus worse.
    return { sure: true, sentence: `${matrix[winner].row} is better than ${matrix[loser].row}${under}: ${tested(winner === b ? 1 : -1)}.` };
  };

  /** Say how many samples explain a difference: those that change their score, and those that one recipe alone scores. */
  mm.changesOf = (gap) => {
    const changed = gap.pairs.reduce((sum, pair) => sum + pair.changed, 0);
    const alone = gap.only_a.rows + gap.only_b.rows;
    const told = `${mm.number(changed)} of ${mm.samples(gap.rows)} ${changed === 1 ? "gets" : "get"} another score`;
    return alone ? `${told}, ${mm.number(alone)} more ${alone === 1 ? "has a score" : "have a score"} under one recipe only` : told;
  };
  const gapSentence = ({ a, b, gap }) =>
    `Same responses of ${matrix[a].row}: ${matrix[b].column} minus ${matrix[a].column} ${mm.signed(gap.difference, "fraction", gap.rows)}; ${mm.changesOf(gap)}.`;
  const aloneSentence = (entry) => {
    const [name, one] = first(entry);
    if (!one) return `No sample is scored: ${mm.number(entry.counts.total - entry.counts.excluded)} of ${mm.samples(entry.counts.total)} have no response.`;
    const share = entry.counts.total ? entry.counts.unparsed / entry.counts.total : 0;
    const said = mm.words(name);
    return `${said[0].toUpperCase()}${said.slice(1)} ${mm.metric(one.value, one.unit, one.n)}${halfWidth(one)} over ${mm.samples(one.n)}; ` +
      `${mm.number(entry.counts.unparsed)} ${entry.counts.unparsed === 1 ? "response" : "responses"} unparsed (${mm.metric(share, "fraction", entry.counts.total)}).`;
  };

  const verdicts = () => {
    const told = [
      ...differences.map(mm.verdictOf).filter(Boolean),
      ...gaps.map((gap) => ({ sure: false, sentence: gapSentence(gap) })),
    ];
    if (!told.length) told.push(...entries.slice(0, OPEN_VERDICTS).map((entry) => ({ sure: false, sentence: aloneSentence(entry) })));
    const shown = told.map(({ sentence, sure }) => text(el("p", { class: `verdict ${sure ? "sure" : ""}`, dir: "auto" }), sentence));
    const rest = shown.slice(OPEN_VERDICTS);
    return el("div", { class: "verdicts", role: "group", "aria-label": "Verdict" }, shown.slice(0, OPEN_VERDICTS),
      rest.length ? el("details", {}, el("summary", {}, `${mm.number(rest.length)} more ${rest.length === 1 ? "comparison" : "comparisons"}`), el("div", { class: "verdicts" }, rest)) : null);
  };

  const LOOK = [
    ["models disagree", "on which models disagree"], ["recipes disagree", "on which recipes disagree"], ["wrong", "with score 0"],
    ["unparsed", "unparsed"], ["failed", "without a score"], ["responses differ", "with differing responses"],
  ];
  const lookAt = () => {
    const found = LOOK.map(([mark, what]) => [mark, what, mm.items.reduce((sum, item) => sum + item.marks.has(mark), 0)]).filter(([, , count]) => count);
    if (!found.length) return null;
    return el("div", { class: "look", role: "group", "aria-label": "Samples to look at" },
      found.map(([mark, what, count]) => mm.link(`${mm.samples(count)} ${what}`, [[mark, true]], null, "pill")));
  };

  const notes = () => {
    const told = entries.flatMap((entry, place) => entry.notes.map((note) => mm.named(note, place)));
    return [...new Set(told)].map((note) => text(el("p", { class: "note" }), note));
  };

  // A matrix of few columns leaves room for what it says beside it.
  const FEW_COLUMNS = 1;
  const SOME_COLUMNS = 4;
  const room = heads.length <= FEW_COLUMNS ? "soon" : heads.length <= SOME_COLUMNS ? "" : "never";
  const saves = () =>
    el("div", { class: "saves" },
      mm.download("CSV", "report.csv", "text/csv", () => csv),
      mm.download("JSON", "report.json", "application/json", () => JSON.stringify(report, null, 1)));

  /** The part above the panels. */
  mm.summarySection = () =>
    el("section", { class: "headline", "aria-label": "Scores" },
      mm.pair(summaryTable(), [verdicts(), ...notes(), el("div", { class: "actions" }, lookAt(), saves())], room));

  /** Put the command into the head of the page. */
  mm.showCommand = () => {
    if (!command) return;
    document.querySelector("#facts dl").append(el("div", { class: "command" }, el("dt", {}, "Command"), text(el("dd", { dir: "ltr" }), command)));
  };
}
