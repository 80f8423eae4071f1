"use strict";
/* Comparisons: two models under one recipe with their tests, two recipes on the same responses with their rules. */
{
  const { el, text } = mm;
  const { report, labels, matrix, differences, gaps } = mm.data;
  const entries = report.entries;
  const ALPHA = 0.05;
  const MAX_RULES = 12;

  // Where all are compared with one, its name is said once.
  const oneBase = new Set(differences.map(({ a }) => a)).size === 1;
  /** Name a pair by what differs, and once by what does not: `b − a · recipe`. */
  const pairLabel = (a, b) => {
    if (oneBase) return labels[b];
    const [left, right] = [labels[a].split(" · "), labels[b].split(" · ")];
    const same = [];
    while (left.length > 1 && right.length > 1 && left.at(-1) === right.at(-1)) same.unshift([left.pop(), right.pop()][0]);
    return [`${right.join(" · ")} − ${left.join(" · ")}`, ...same].join(" · ");
  };
  const verdict = (p, value) => (p === null ? "not tested" : p < ALPHA ? (value > 0 ? "higher" : "lower") : "no clear difference");
  const tested = (told, a, b) => {
    const p = told.p_holm ?? told.p;
    const [low, high] = told.ci95 ?? [null, null];
    return { label: pairLabel(a, b), a, b, told, p, value: told.difference, low, high, sure: p !== null && p < ALPHA, unit: told.unit ?? "fraction" };
  };

  const draw = (kinds, lacking) => ({ metric }) => {
    const rows = kinds.get(metric).map((one) => ({
      ...one, shown: mm.signed(one.value, one.unit, one.told.n).replace(" points", ""), title: `${labels[one.b]} − ${labels[one.a]}: ${mm.signed(one.value, one.unit, one.told.n)}, ${mm.pValue(one.p)}`,
    }));
    const lines = rows.map((one) => [
      one.label, el("data", { value: String(one.value) }, mm.signed(one.value, one.unit, one.told.n)), mm.interval95({ ci95: one.told.ci95, unit: one.unit, n: one.told.n }),
      el("span", { class: "span" }, mm.pValue(one.p)), el("span", { class: "span" }, one.told.mcnemar ? `${mm.number(one.told.mcnemar.only_b)} : ${mm.number(one.told.mcnemar.only_a)}` : "–"),
      el("span", { class: `tag ${one.sure ? "good" : ""}` }, verdict(one.p, one.value)),
    ]);
    const tests = [...new Set(rows.map((one) => one.told.test).filter(Boolean))].join(", ");
    const showModels = mm.filterable.has("models disagree");
    return mm.pair(
      mm.byScale(rows).map(({ unit, rows: drawn }) => mm.chart(`Difference in ${mm.words(metric)}`, mm.forest(drawn, unit),
        mm.table("Samples of each pair", ["pair", "compared", "only in the second", "only in the first", "without a score", "of other references"], lacking))),
      [mm.table(`Differences of ${mm.words(metric)}`, ["pair", "difference", "95 % interval", "p", "wins : losses", "verdict"], lines),
      tests ? el("p", { class: "about" }, `p: ${tests}. Wins and losses: samples that the second has right and the first has not, and the other way round.`) : null,
      showModels ? el("p", {}, mm.link("Show the samples on which models disagree", [["models disagree", true]])) : null].filter(Boolean));
  };

  /** The panel of models under one recipe, null where nothing can be compared. */
  mm.comparisonPanel = () => {
    if (!differences.length) return null;
    const kinds = new Map();
    for (const { a, b, scores: own, metrics } of differences)
      for (const [name, told] of [...Object.entries(own), ...Object.entries(metrics).filter(([one, metric]) => !(one in own) && metric.p !== null)]) {
        if (!kinds.has(name)) kinds.set(name, []);
        kinds.get(name).push(tested(told, a, b));
      }
    if (!kinds.size) return null;
    const base = oneBase ? `${differences.length === 1 ? labels[differences[0].b] : "Each"} minus ${labels[differences[0].a]}. ` : "";
    const lacking = differences.map(({ a, b, rows }) => [pairLabel(a, b), rows.compared, rows.only_a, rows.only_b, rows.unscored, rows.unlike]);
    const about = `${base}Sample by sample, over those that both have a score for; 95 % intervals.${differences.length > 1 ? " p-values are adjusted for the number of pairs (Holm)." : ""}`;
    const content = mm.choosing([{ name: "metric", values: () => [...kinds.keys()] }], draw(kinds, lacking));
    return mm.panel("Model comparison", `${mm.number(differences.length)} ${differences.length === 1 ? "pair" : "pairs"}, paired tests`, content, { open: true, about });
  };

  const recipePanel = ({ a, b, scores: [nameA, nameB], gap }) => {
    const pairs = gap.pairs.filter((pair) => pair.changed);
    const show = (pair) => [[mm.ruleColumn(a), pair.how_a], [mm.ruleColumn(b), pair.how_b], ["recipes disagree", true]];
    const signed = (value) => mm.signed(value, "fraction", gap.rows);
    const rows = pairs.slice(0, MAX_RULES).map((pair) => ({
      label: pair.how_a === pair.how_b ? pair.how_a : `${pair.how_a} → ${pair.how_b}`, value: pair.contribution * 100, shown: signed(pair.contribution).replace(" points", ""),
      title: `${pair.how_a} in ${labels[a]}, ${pair.how_b} in ${labels[b]}: ${mm.number(pair.changed)} of ${mm.samples(pair.rows)} changed`,
    }));
    const adds = (value) => el("data", { value: String(value) }, signed(value));
    const lines = gap.pairs.map((pair) => [
      pair.how_a, pair.how_b, pair.rows, pair.changed ? mm.link(mm.number(pair.changed), show(pair), `${mm.samples(pair.changed)} changed, show them`) : 0,
      adds(pair.contribution), pair.sum_a, pair.sum_b,
    ]);
    for (const [alone, place] of [[gap.only_a, a], [gap.only_b, b]])
      if (alone.rows) lines.push([`scored by ${labels[place]} alone`, "–", alone.rows, "–", adds(alone.contribution), "–", "–"]);
    const changed = pairs.length > 0;
    const named = nameA === nameB ? mm.words(nameA) : `${mm.words(nameB)} − ${mm.words(nameA)}`;
    const title = `${matrix[b].column} against ${matrix[a].column}${new Set(matrix.map(({ row }) => row)).size > 1 ? `: ${matrix[a].row}` : ""}`;
    const table = [
      mm.table("Rules that explain the difference", [`rule in ${matrix[a].column}`, `rule in ${matrix[b].column}`, "samples", "changed", "adds", "score before", "score after"], lines),
      changed ? el("p", {}, mm.link("Show the samples on which recipes disagree", [["recipes disagree", true]])) : null,
    ].filter(Boolean);
    const content = rows.length ? mm.pair(mm.chart("What each pair of rules adds to the difference", mm.contributions(rows), null), table) : table;
    return mm.panel(title, `${signed(gap.difference)} on the same responses`, content, { about: `${named} ${signed(gap.difference)}: ${mm.changesOf(gap)}. By the rule that parsed the response in each recipe:` });
  };
  mm.recipePanels = () => gaps.map(recipePanel);

  /** All metrics: a chart of the results, and a table with every metric of each. */
  mm.metricPanel = () => {
    const every = entries.flatMap((entry, place) => Object.entries(entry.metrics).map(([name, one]) => [place, name, one]));
    if (!every.length) return null;
    const lines = every.map(([place, name, one]) => [...(mm.several ? [labels[place]] : []), mm.words(name), mm.metric95(one), mm.interval95(one), one.n, one.unit === "fraction" ? "percent" : one.unit]);
    const table = mm.table("All metrics", [...(mm.several ? ["result"] : []), "metric", "value", "95 % interval", "n", "unit"], lines);
    if (!mm.several) return every.length > 1 ? mm.panel("All metrics", `${every.length} metrics`, table) : null;
    const bars = ({ metric }) => {
      const rows = entries.flatMap((entry, place) => {
        const one = mm.pick(entry.metrics, entry, metric);
        return one && one.value !== null ? [mm.chartRow(labels[place], place, one, labels[place])] : [];
      });
      if (!rows.length) return el("p", { class: "about" }, "No result has this metric.");
      return mm.byScale(rows).map(({ unit, rows: drawn }) => mm.chart(mm.words(metric), mm.bars(drawn, drawn.map((one) => one.group), ["all"], unit), null));
    };
    const content = mm.choosing([{ name: "metric", values: () => mm.metricNames(entries.map((entry) => entry.metrics)) }], bars);
    return mm.panel("All metrics", "side by side, with 95 % intervals", mm.pair(content, table));
  };
}
