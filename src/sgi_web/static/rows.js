// Loads the next or the previous page of rows at the ends of the table; pages that are far away are removed.
// Without this script, the links below the table change the page.
"use strict";
(() => {
  const MAX_PAGES = 6;
  const MARGIN = "400px 0px";
  let stop = () => {};

  function link(text, rel, address) {
    const element = document.createElement(address ? "a" : "span");
    element.textContent = text;
    if (address) {
      element.rel = rel;
      element.href = address;
    } else {
      element.className = "faint";
    }
    return element;
  }

  function watchTable() {
    stop();
    const turn = document.querySelector("#rows .turn");
    const pager = turn?.querySelector(".pager");
    const box = document.querySelector("#rows .box");
    if (!pager || !box || !("IntersectionObserver" in window)) return;
    const { page, pages, size, total } = Object.fromEntries(Object.entries(turn.dataset).map(([name, text]) => [name, Number(text)]));
    const table = box.querySelector("table");
    const body = table.tBodies[0];
    const template = new URL(pager.querySelector("a").href);
    const loaded = new Map([[page, [...body.rows]]]);
    let isLoading = false;
    let isStopped = false;
    box.classList.add("scrolls");
    table.setAttribute("aria-rowcount", String(total + 1));
    number(page);

    function number(at) {
      loaded.get(at).forEach((row, n) => row.setAttribute("aria-rowindex", String((at - 1) * size + n + 2)));
    }

    function address(at) {
      template.searchParams.set("page", String(at));
      return template.href;
    }

    function ends() {
      const numbers = [...loaded.keys()];
      return [Math.min(...numbers), Math.max(...numbers)];
    }

    function showPager(first, last) {
      const place = document.createElement("span");
      const count = new Intl.NumberFormat("en");
      place.textContent = first === last ? `Page ${count.format(first)} of ${count.format(pages)}` : `Pages ${count.format(first)} to ${count.format(last)} of ${count.format(pages)}`;
      pager.replaceChildren(
        link("Previous", "prev", first > 1 && address(first - 1)), place,
        link("Next", "next", last < pages && address(last + 1)),
      );
    }

    // Changes rows above the visible ones without moving these.
    function keepPlace(anchor, change) {
      const before = anchor.getBoundingClientRect().top;
      change();
      box.scrollTop += anchor.getBoundingClientRect().top - before;
    }

    function removeFarPage(added) {
      const [first, last] = ends();
      const far = added === last ? first : last;
      const rows = loaded.get(far);
      if (loaded.size <= MAX_PAGES || rows.some((row) => row.contains(document.activeElement))) return;
      loaded.delete(far);
      keepPlace(loaded.get(added)[0], () => rows.forEach((row) => row.remove()));
    }

    async function load(at) {
      isLoading = true;
      table.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(address(at), { headers: { "HX-Request": "true", "HX-Request-Type": "partial" } });
        if (!answer.ok || isStopped) return;
        const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
        const found = parsed.querySelector(".turn");
        if (isStopped || Number(found?.dataset.total) !== total) return; // the run changed: the links still work
        const rows = [...parsed.querySelectorAll("tbody tr")].map((row) => document.adoptNode(row));
        const [first] = ends();
        loaded.set(at, rows);
        if (at > first) body.append(...rows);
        else keepPlace(loaded.get(first)[0], () => body.prepend(...rows));
        number(at);
        removeFarPage(at);
        showPager(...ends());
        const place = document.getElementById("announcement");
        const [from, to] = ends();
        place.textContent = `Rows ${(from - 1) * size + 1} to ${Math.min(total, to * size)} of ${total} are loaded`;
        watchEnds();
      } catch {
        // offline: the links below the table still work
      } finally {
        isLoading = false;
        table.removeAttribute("aria-busy");
      }
    }

    const observer = new IntersectionObserver((entries) => {
      if (isLoading) return;
      const [first, last] = ends();
      const isNear = (row) => entries.some((entry) => entry.isIntersecting && entry.target === row);
      if (last < pages && isNear(body.rows[body.rows.length - 1])) load(last + 1);
      else if (first > 1 && isNear(body.rows[0]) && box.scrollTop > 0) load(first - 1);
    }, { root: box, rootMargin: MARGIN });

    function watchEnds() {
      observer.disconnect();
      observer.observe(body.rows[0]);
      observer.observe(body.rows[body.rows.length - 1]);
    }

    watchEnds();
    stop = () => {
      isStopped = true;
      observer.disconnect();
    };
  }

  // A link of a hidden column list: if every column is chosen, the address needs none.
  document.getElementById("filters")?.addEventListener("formdata", (event) => {
    const boxes = [...event.target.querySelectorAll("input[name=columns]")];
    if (boxes.every((box) => box.checked)) event.formData.delete("columns");
  });
  document.addEventListener("htmx:after:swap", watchTable);
  watchTable();
})();
