// A sentence of an answer lights the passage that supports it best, and the sentence of it that is nearest.
"use strict";
(() => {
  const LIT = "lit";
  let passage = null;

  function darken() {
    passage?.classList.remove(LIT);
    passage = null;
    CSS.highlights?.delete(LIT);
  }

  // The text between two places of an element; null if the element does not contain it.
  function rangeOf(element, text) {
    const node = element.firstChild;
    const start = node ? node.data.indexOf(text) : -1;
    if (start < 0 || !text) return null;
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, start + text.length);
    return range;
  }

  function light(sentence) {
    darken();
    const row = sentence.closest(".row-details");
    passage = row?.querySelector(`.passages li[data-number="${sentence.dataset.passage}"]`) ?? null;
    if (!passage) return;
    passage.classList.add(LIT);
    const listed = row.querySelector(`li[data-sentence="${sentence.dataset.sentence}"]`);
    const nearest = (listed?.querySelector("q.nearest")?.textContent ?? "").replace(/…$/u, "").trim();
    const range = rangeOf(passage.querySelector(".text"), nearest);
    if (range && CSS.highlights) CSS.highlights.set(LIT, new Highlight(range));
    const column = passage.closest(".sticky");
    if (column) column.scrollTop += passage.getBoundingClientRect().top - column.getBoundingClientRect().top - 40;
  }

  for (const kind of ["pointerover", "focusin", "click"]) {
    document.addEventListener(kind, (event) => {
      const sentence = event.target.closest?.("[data-passage]");
      if (sentence) light(sentence);
    });
  }
})();
