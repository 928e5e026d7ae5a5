/* The search of Sphinx finds pages that have every word. A pasted error message has words that no page has, such as
   the name of a file. First come the headings whose parts between "…" are in the text, then those with most of its words. */
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const original = Search._performSearch;
  const plain = (text) => text.toLowerCase().replace(/[`"’]/g, "'").replace(/\s+/g, " ");
  const words = (text) => new Set(plain(text).match(/[\p{L}\p{N}_]{2,}/gu) ?? []);
  const matchedLength = (title, query) => {
    let from = 0;
    const parts = plain(title).split("…").map((part) => part.replace(/^[ '.]+|[ '.]+$/g, ""));
    for (const part of parts) {
      const place = query.indexOf(part, from);
      if (place < 0) return 0;
      from = place + part.length;
    }
    return parts.join("").length;
  };
  const score = (title, query, asked) => {
    const length = matchedLength(title, query);
    if (length >= 10) return length;
    const own = words(title);
    const shared = [...own].filter((word) => asked.has(word)).length;
    return shared >= 3 && shared / own.size >= 0.6 ? shared / own.size : 0;
  };
  Search._performSearch = (query, ...rest) => {
    const found = original(query, ...rest);
    const asked = words(query);
    if (asked.size < 4) return found;
    const { alltitles, docnames, filenames, titles } = Search._index;
    const headings = Object.entries(alltitles).flatMap(([title, places]) => {
      const value = score(title, plain(query), asked);
      if (value === 0) return [];
      return places.map(([page, anchor]) => {
        const shown = titles[page] === title ? title : `${titles[page]} > ${title}`;
        return [docnames[page], shown, anchor ? `#${anchor}` : "", null, value, filenames[page], "title"];
      });
    });
    headings.sort((one, other) => one[4] - other[4]);
    return [...found, ...headings.slice(-10)]; // the last is shown first
  };
});
