"use strict";
/* What is wider than its place is set closer, step by step: nothing is cut, and nothing scrolls sideways. */
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
}
