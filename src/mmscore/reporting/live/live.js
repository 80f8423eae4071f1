"use strict";
/* The live view: asks its own server for the state every few seconds and shows it; every text is put in place as text. */
{
  const { el, text } = mm;
  const PAUSE = 2000; // milliseconds between two looks
  const MAX_RATE_AGE = 120; // seconds that a rate looks back
  const TONES = { running: "warn", finished: "good", partial: "warn", stopped: "bad", "cannot be read": "bad" };
  const token = new URLSearchParams(location.search).get("token") ?? "";
  const chosen = new Set();
  const history = new Map(); // run -> [time, done] of earlier looks
  let last = "";

  const address = (path, more = []) => `${path}?${new URLSearchParams([["token", token], ...more])}`;
  const ago = (seconds) =>
    seconds < 60 ? `${Math.max(0, Math.round(seconds))} s ago` : seconds < 3600 ? `${Math.round(seconds / 60)} min ago`
      : seconds < 172800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
  const lasting = (seconds) => (seconds < 60 ? `${Math.round(seconds)} s` : seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

  const rate = (run, now) => {
    const marks = [...(history.get(run.key) ?? []), [now, run.done]].filter(([time]) => now - time <= MAX_RATE_AGE);
    history.set(run.key, marks);
    const [start, before] = marks[0];
    return run.status === "running" && now > start && run.done > before ? (run.done - before) / (now - start) : null;
  };

  const progress = (run, now) => {
    const pace = rate(run, now);
    const of = run.total === null ? `${mm.number(run.done)} samples` : `${mm.number(run.done)} of ${mm.number(run.total)}`;
    const parts = [of, run.failed ? `${mm.number(run.failed)} failed` : "", pace ? `${mm.number(Math.round(pace * 10) / 10)} a second` : "",
      pace && run.total ? `${lasting((run.total - run.done) / pace)} left` : ""].filter(Boolean);
    return el("div", { class: "progress" },
      run.total ? el("progress", { max: run.total, value: run.done, "aria-label": `Progress of ${run.key}` }) : null,
      el("span", {}, parts.flatMap((part, place) => [place ? " · " : null, el("span", { class: "part" }, part)])), run.problem ? text(el("span", { class: "problem" }), run.problem) : null);
  };

  const WHOLE = new Set(["changed", "score", "n", "unparsed"]); // columns of short values that stay on one line
  const table = (caption, heads, lines) => {
    const place = el("div", { class: "scroll" },
      el("table", {}, el("caption", { class: "spoken" }, caption),
        el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, lines)));
    mm.fitTable(place, ["tight", "stacked"]);
    return place;
  };
  const line = (heads, cells) =>
    el("tr", {}, cells.map((value, place) => {
      const cell = el(place ? "td" : "th", { scope: place ? null : "row", "data-label": place ? heads[place] : null, class: WHOLE.has(heads[place]) ? "whole" : null, dir: "auto" });
      if (value instanceof Node) cell.append(value);
      else text(cell, value);
      return cell;
    }));

  const compareTools = () => {
    const [a, b] = [...chosen];
    const link = chosen.size === 2
      ? el("a", { href: address("/report", [["run", a], ["run", b]]), target: "_blank", rel: "noopener" }, "Compare the two chosen runs")
      : el("span", { class: "empty" }, "Choose two runs to compare them.");
    return el("div", { class: "tools", id: "compare" }, link);
  };

  const showRuns = (state) => {
    const place = document.getElementById("runs");
    if (!state.runs.length) {
      place.replaceChildren(el("p", { class: "empty" }, "No predictions yet. Start a run in this folder:"),
        el("pre", {}, "mmscore predict DATASET -o predictions.parquet --model MODEL"));
      return;
    }
    const heads = ["predictions", "model", "dataset", "status", "progress", "changed", "report", "compare"];
    const lines = state.runs.map((run) => {
      const box = el("input", { type: "checkbox", "aria-label": `Compare ${run.key}`, disabled: !run.has_predictions });
      box.checked = chosen.has(run.key);
      box.addEventListener("change", () => {
        box.checked ? chosen.add(run.key) : chosen.delete(run.key);
        while (chosen.size > 2) chosen.delete(chosen.values().next().value);
        for (const other of place.querySelectorAll("input")) other.checked = chosen.has(other.run);
        document.getElementById("compare").replaceWith(compareTools());
      });
      box.run = run.key;
      return line(heads, [
        run.key, run.model || "–", run.dataset || "–", el("span", { class: `tag ${TONES[run.status] ?? ""}` }, run.status), progress(run, state.time),
        ago(state.time - run.changed),
        run.has_predictions ? el("a", { href: address("/report", [["run", run.key]]), target: "_blank", rel: "noopener", "aria-label": `Report of ${run.key}` }, "open") : "–", box,
      ]);
    });
    place.replaceChildren(compareTools(), table("Predictions and their progress", heads, lines));
  };

  const score = (report) => {
    if (report.value === null) return "–";
    const share = report.unit === "fraction" || report.unit === "percent";
    const scale = report.unit === "fraction" ? 100 : 1;
    const shown = (value) => (value * scale).toFixed(share && (report.n ?? 0) < 1000 ? 1 : 2);
    const interval = report.ci95 && report.ci95.every((end) => end !== null) ? ` ± ${shown((report.ci95[1] - report.ci95[0]) / 2)}` : "";
    return el("span", {}, el("b", {}, `${shown(report.value)}${share ? " %" : ""}`), el("span", { class: "half" }, interval));
  };
  const showReports = (state) => {
    const place = document.getElementById("reports");
    if (!state.reports.length) {
      place.replaceChildren(el("p", { class: "empty" }, "No reports yet. Score predictions into this folder:"),
        el("pre", {}, "mmscore predictions.parquet -o report.json"));
      return;
    }
    const heads = ["report", "model", "dataset", "recipe", "metric", "score", "n", "unparsed", "changed"];
    const lines = state.reports.map((one) => line(heads, [
      one.key, one.model || "–", one.dataset || "–", `${one.recipe}@${one.version}`, one.metric.replaceAll("_", " ") || "–", score(one),
      one.n === null ? "–" : mm.number(one.n), one.unparsed === null ? "–" : mm.number(one.unparsed), ago(state.time - one.changed),
    ]));
    place.replaceChildren(table("Scores of finished reports", heads, lines));
  };

  const show = (state) => {
    const runs = new Set(state.runs.map((run) => run.key));
    for (const key of chosen) if (!runs.has(key)) chosen.delete(key);
    const focused = document.activeElement?.getAttribute?.("aria-label");
    showRuns(state);
    showReports(state);
    // What had the focus is made anew; it goes to what stands in its place.
    if (focused) [...document.querySelectorAll("[aria-label]")].find((one) => one.getAttribute("aria-label") === focused)?.focus({ preventScroll: true });
  };

  const look = async () => {
    const status = document.getElementById("folder");
    try {
      const response = await fetch(address("/state.json"), { cache: "no-store" });
      if (!response.ok) throw new Error(await response.text());
      const state = await response.json();
      const seen = JSON.stringify([state.runs, state.reports, Math.floor(state.time / 10)]);
      if (seen !== last) show(state);
      last = seen;
      const running = state.runs.filter((run) => run.status === "running").length;
      const said = `${state.folder}: ${mm.number(state.runs.length)} ${state.runs.length === 1 ? "run" : "runs"}, ${mm.number(running)} running${state.left_out ? ". The folder has more files than are looked at." : ""}`;
      if (status.textContent !== said) {
        status.replaceChildren();
        text(status, said);
      }
    } catch (error) {
      status.textContent = `The server does not respond: ${error.message}. Is \`mmscore view\` still running?`;
    }
    setTimeout(look, document.hidden ? PAUSE * 5 : PAUSE);
  };
  look();
}
