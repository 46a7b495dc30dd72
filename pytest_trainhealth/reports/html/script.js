"use strict";
(() => {
  const form = document.getElementById("filters");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("tr[data-for]")].map((row) => ({
    row,
    section: document.getElementById(row.dataset.for),
    text: (row.cells[0].textContent + " " + row.querySelector(".cause").textContent).toLowerCase(),
  }));

  const filter = () => {
    const outcome = form.elements.outcome.value;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, section, text } of rows) {
      const fits = (outcome === "all" || row.dataset.outcome === outcome) && words.every((word) => text.includes(word));
      row.hidden = section.hidden = !fits;
      count += fits;
    }
    shown.textContent = count === 1 ? "1 training" : `${count.toLocaleString("en")} trainings`;
  };

  /* A link may lead into a section that is closed, or that a filter hides. */
  const reveal = () => {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      /* as it is, then */
    }
    const target = name && document.getElementById(name);
    const section = target && target.closest("details.training");
    if (!section) return;
    if (section.hidden && form) {
      form.reset();
      filter();
    }
    section.open = true;
    target.scrollIntoView();
    section.querySelector("summary").focus({ preventScroll: true });
  };

  if (form) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }
  addEventListener("hashchange", reveal);
  reveal();
})();
