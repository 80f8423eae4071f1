"use strict";
/* What is wider than its place is set closer, step by step: nothing is cut, nothing scrolls sideways; rows of cards have no hole. */
{
  const widths = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) if (Math.round(contentRect.width) !== target.fittedWidth) target.fit();
  });

  /** Keep a table inside its place: add one class after the other until it fits, whenever the place changes. */
  mm.fitTable = (place, steps) => {
    place.fit = () => {
      if (!place.clientWidth) return;
      place.fittedWidth = Math.round(place.clientWidth);
      place.classList.remove(...steps);
      for (const step of steps) {
        if (place.scrollWidth <= place.clientWidth) break;
        place.classList.add(step);
      }
    };
    widths.observe(place);
  };

  const GAP = 16; // pixels between two cards
  /** Lay out cards in rows of like length, each row as wide as its place: four cards are two and two, never three and one. */
  mm.fillRows = (place, least) => {
    place.classList.add("filled-rows");
    place.fit = () => {
      place.fittedWidth = Math.round(place.clientWidth);
      const most = Math.max(1, Math.floor((place.fittedWidth + GAP) / (least + GAP)));
      const rows = Math.max(1, Math.ceil(place.childElementCount / most));
      place.style.setProperty("--cards", String(Math.ceil(place.childElementCount / rows)));
    };
    widths.observe(place);
    return place;
  };
}
