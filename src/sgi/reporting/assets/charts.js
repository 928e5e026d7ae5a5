// Draws charts in the colours of the page, without making code from text and without styles of its own.
"use strict";
window.sgiCharts = (() => {
  const drawn = new Map();
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const print = window.matchMedia("print");
  let tip = null;

  function theme() {
    if (print.matches) return "light";
    return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  }

  function config() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const text = { labelColor: colour("--ink-soft"), titleColor: colour("--ink-soft"), titleFontWeight: 500 };
    const lines = { gridColor: colour("--line"), domainColor: colour("--line-strong"), tickColor: colour("--line-strong") };
    return {
      aria: false,
      background: "transparent",
      font: style.fontFamily,
      view: { stroke: null },
      axis: { ...text, ...lines, labelFontSize: 11, titleFontSize: 12 },
      legend: { ...text, labelFontSize: 12 },
      title: { color: colour("--ink") },
      text: { color: colour("--ink") },
    };
  }

  function tipElement() {
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.hidden = true;
    }
    if (!tip.isConnected) document.body.append(tip);
    return tip;
  }

  function linesOf(value) {
    if (value === null || value === undefined || value === "") return null;
    return typeof value === "object" ? Object.entries(value) : [["", value]];
  }

  function place(box, event) {
    const gap = 14;
    const across = event.clientX + gap + box.offsetWidth > window.innerWidth ? event.clientX - gap - box.offsetWidth : event.clientX + gap;
    const down = event.clientY + gap + box.offsetHeight > window.innerHeight ? event.clientY - gap - box.offsetHeight : event.clientY + gap;
    box.style.left = `${Math.max(4, across)}px`;
    box.style.top = `${Math.max(4, down)}px`;
  }

  function showTip(event, lines) {
    const box = tipElement();
    box.hidden = !lines;
    if (!lines) return;
    box.replaceChildren(...lines.map(([name, told]) => {
      const line = document.createElement("div");
      const key = document.createElement("b");
      key.textContent = name;
      const text = document.createElement("span");
      text.dir = "auto";
      text.textContent = String(told);
      line.append(key, " ", text);
      return line;
    }));
    place(box, event);
  }

  function hideTip() {
    if (tip) tip.hidden = true;
  }

  // `options`: renderer "svg" or "canvas"; describe(datum) gives the lines of a tooltip, each a name and a text,
  // for charts that have none of their own; ready(view) is called after each drawing, and a change of the theme
  // draws again.
  async function draw(element, spec, options = {}) {
    drawn.get(element)?.view?.finalize();
    const entry = { spec, options, theme: theme(), view: null };
    drawn.set(element, entry);
    // Vega names the parts of a drawing for readers; here the element around it has the words for all of it.
    const inside = document.createElement("div");
    inside.className = "drawing";
    inside.setAttribute("aria-hidden", "true");
    element.replaceChildren(inside);
    const made = await vegaEmbed(inside, spec, {
      mode: "vega-lite",
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: options.renderer || "svg",
      config: config(),
      tooltip: (_handler, event, _item, value) => showTip(event, linesOf(value)),
    });
    if (drawn.get(element) !== entry) {
      made.finalize();
      return null;
    }
    entry.view = made.view;
    if (options.describe) {
      made.view.addEventListener("pointermove", (event, item) => {
        showTip(event, (item && item.datum && options.describe(item.datum)) || null);
      });
    }
    element.onpointerleave = hideTip;
    if (options.ready) options.ready(made.view);
    return made.view;
  }

  function again() {
    for (const [element, entry] of [...drawn]) {
      if (!element.isConnected) {
        entry.view?.finalize();
        drawn.delete(element);
      } else if (entry.theme !== theme()) {
        draw(element, entry.spec, entry.options);
      }
    }
  }

  dark.addEventListener("change", again);
  print.addEventListener("change", again);
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  // What a tooltip says of a row in the plane of the two angles; null for anything else under the pointer.
  function pointLines(datum) {
    if (datum?.theta_rc === undefined || datum.position === undefined) return null;
    const numbers = { SGI: datum.value, "θ(r, c)": datum.theta_rc, "θ(r, q)": datum.theta_rq };
    const told = Object.entries(numbers).map(([name, value]) => [name, value.toFixed(4)]);
    return [["row", datum.id], ["", datum.label], ...told];
  }

  return { draw, pointLines, theme };
})();
