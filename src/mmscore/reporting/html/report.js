"use strict";
/* The report above the table of samples: the summary, then panels that fold. */
{
  const summary = document.getElementById("summary");
  const panels = [mm.categoryPanel(), mm.comparisonPanel(), mm.metricPanel(), ...mm.recipePanels(), ...mm.detailPanels()].filter(Boolean);
  mm.showCommand();
  summary.append(mm.summarySection(), mm.el("div", { class: "panels" }, panels));

  // Paper shows what is folded on the screen.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const panel of document.querySelectorAll(".panel:not([open])")) {
      panel.open = true;
      opened.push(panel);
    }
  });
  addEventListener("afterprint", () => {
    for (const panel of opened.splice(0)) panel.open = false;
  });
}
