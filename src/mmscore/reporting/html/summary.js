"use strict";
/* The head of the report: one matrix of all scores, the verdict as a sentence, and what to look at first. */
{
  const { el, text } = mm;
  const { report, labels, matrix, differences, gaps, csv } = mm.data;
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

  const summaryTable = () => {
    let sorted = null;
    const body = el("tbody");
    const fill = () => {
      const value = (line) => first(entries[placeOf(line, sorted.head)] ?? { metrics: {} })[1]?.value ?? -Infinity;
      const order = sorted === null ? lines : sorted.head === null
        ? [...lines].sort((a, b) => sorted.sign * a.localeCompare(b, "en", { numeric: true }))
        : [...lines].sort((a, b) => sorted.sign * (value(a) - value(b)));
      body.replaceChildren(...order.map((line) =>
        el("tr", {}, text(el("th", { scope: "row", dir: "auto" }), line),
          heads.map((head) => el("td", { "data-label": head }, scoreCell(placeOf(line, head)))))));
    };
    const head = (label, key, falling) => {
      const button = el("button", { type: "button", title: "Sort" }, text(el("span", { dir: "auto" }), label));
      const cell = el("th", { scope: "col" }, button);
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
    const test = `${difference}${told.ci95 ? `, 95 % ${mm.interval(told.ci95, unit, told.n)}` : ""}, ${pValue(p)}`;
    if (p === null) return { sure: false, sentence: `Not tested${under}: ${left} minus ${right} ${difference}${told.why_no_p ? ` (${told.why_no_p})` : ""}.` };
    if (p >= ALPHA) return { sure: false, sentence: `No clear difference${under}: ${left} minus ${right} ${test}.` };
    return { sure: true, sentence: `${matrix[winner].row} is better than ${matrix[loser].row}${under}: ${left} minus ${right} ${test}.` };
  };

  const gapSentence = ({ a, b, gap }) => {
    const changed = gap.pairs.reduce((sum, pair) => sum + pair.changed, 0);
    return `Same responses of ${matrix[a].row}: ${matrix[b].column} minus ${matrix[a].column} ${mm.signed(gap.difference, "fraction", gap.rows)}; ${mm.number(changed)} of ${mm.samples(gap.rows)} get another score.`;
  };
  const aloneSentence = (entry) => {
    const [name, one] = first(entry);
    if (!one) return `No sample is scored: ${mm.number(entry.counts.total - entry.counts.excluded)} of ${mm.samples(entry.counts.total)} have no response.`;
    const share = entry.counts.total ? entry.counts.unparsed / entry.counts.total : 0;
    return `${mm.words(name)} ${mm.metric(one.value, one.unit, one.n)}${halfWidth(one)} over ${mm.samples(one.n)}; ` +
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
      rest.length ? el("details", {}, el("summary", {}, `${mm.number(rest.length)} more ${rest.length === 1 ? "comparison" : "comparisons"}`), rest) : null);
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

  /** The part above the panels. */
  mm.summarySection = () =>
    el("section", { class: "headline", "aria-label": "Scores" }, summaryTable(), verdicts(), ...notes(),
      el("div", { class: "actions" }, lookAt(),
        el("div", { class: "saves" },
          mm.download("CSV", "report.csv", "text/csv", () => csv),
          mm.download("JSON", "report.json", "application/json", () => JSON.stringify(report, null, 1)))));
}
