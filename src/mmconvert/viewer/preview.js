"use strict";
/* Above the samples of a preview: skipped rows with their reasons, then what the dataset is like. */
{
  const { el, text } = mm;
  const { skipped, statistics } = mm.data;
  const LEAST = 288; // pixels of a card that shows a statistic
  const summary = document.getElementById("summary");

  const show = (code) => () => {
    mm.clear();
    mm.setFilter("problem code", code);
    document.getElementById("items").scrollIntoView({ behavior: "smooth" });
  };
  if (skipped.length) {
    const rows = skipped.reduce((sum, one) => sum + one.rows, 0);
    summary.append(
      el("section", { class: "skipped", "aria-label": "Skipped rows" },
        el("h2", {}, `${mm.number(rows)} skipped ${rows === 1 ? "row" : "rows"}`),
        el("ul", {}, skipped.map(({ code, rows: count, message }) =>
          el("li", {},
            text(el("button", { type: "button", class: "chip bad", title: "Show these rows", onclick: show(code) }), `${mm.number(count)} × ${code}`),
            text(el("span", { dir: "auto" }), message))))));
  }

  const bars = ({ title, lines }) => {
    const most = Math.max(...lines.map(([, count]) => count));
    const total = lines.reduce((sum, [, count]) => sum + count, 0);
    return el("section", { class: "statistic" }, text(el("h2", {}), title),
      el("ul", {}, lines.map(([label, count]) => {
        const bar = el("i", { "aria-hidden": "true" });
        bar.style.width = `${(100 * count) / most}%`;
        return el("li", {}, text(el("span", { class: "label", dir: "auto" }), label || "(empty)"), el("span", { class: "bar-of" }, bar),
          el("span", { class: "count" }, `${mm.number(count)} · ${((100 * count) / total).toFixed(1)} %`));
      })));
  };
  if (statistics.length) summary.append(mm.fillRows(el("div", { class: "statistics", role: "group", "aria-label": "Statistics" }, statistics.map(bars)), LEAST));
}
