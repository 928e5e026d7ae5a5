/* The search of Sphinx finds pages that have every word. A pasted error message has words that no page has, such as
   the name of a file: the headings with most of its words come first. */
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const original = Search._performSearch;
  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? []);
  Search._performSearch = (query, ...rest) => {
    const asked = words(query);
    const found = original(query, ...rest);
    if (asked.size < 4) return found;
    const { alltitles, docnames, filenames, titles } = Search._index;
    const headings = [];
    for (const [title, places] of Object.entries(alltitles)) {
      const own = words(title);
      const shared = [...own].filter((word) => asked.has(word)).length;
      if (shared < 3 || shared / own.size < 0.6) continue;
      const score = (shared / own.size) * Math.log(shared);
      for (const [page, anchor] of places) {
        const shown = titles[page] === title ? title : `${titles[page]} > ${title}`;
        headings.push([docnames[page], shown, anchor ? `#${anchor}` : "", null, score, filenames[page], "title"]);
      }
    }
    headings.sort((one, other) => one[4] - other[4]);
    return [...found, ...headings.slice(-10)]; // the last is shown first
  };
});
