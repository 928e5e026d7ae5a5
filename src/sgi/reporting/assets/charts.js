// Draws charts in the colours of the page. It evaluates no text as code and adds no styles (strict CSP).
"use strict";
window.sgiCharts = (() => {
  const MANY_POINTS = ["plane", "scatter"]; // An SVG of thousands of points blocks the page.
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
    box.replaceChildren(...lines.map(([name, value]) => {
      const line = document.createElement("div");
      const key = document.createElement("b");
      key.textContent = name;
      const text = document.createElement("span");
      text.dir = "auto";
      text.textContent = String(value);
      line.append(key, " ", text);
      return line;
    }));
    place(box, event);
  }

  function hideTip() {
    if (tip) tip.hidden = true;
  }

  // Resolves when the browser has handled its input. Without it, several charts block the page for a second.
  const idle = () => new Promise((resolve) => {
    if (window.requestIdleCallback) requestIdleCallback(resolve, { timeout: 500 });
    else setTimeout(resolve);
  });

  // `options`: describe(datum) returns the lines of a tooltip, each a name and a text,
  // for charts without tooltips; ready(view) is called after each drawing. A change of the theme draws again.
  async function draw(element, spec, options = {}) {
    drawn.get(element)?.view?.finalize();
    const entry = { spec, options, theme: theme(), view: null };
    drawn.set(element, entry);
    // Vega labels each part of a drawing for screen readers; here the outer element describes the whole chart.
    const inside = document.createElement("div");
    inside.className = "drawing";
    inside.setAttribute("aria-hidden", "true");
    element.replaceChildren(inside);
    const embedded = await vegaEmbed(inside, spec, {
      mode: "vega-lite",
      ast: true,
      actions: false,
      defaultStyle: false,
      renderer: MANY_POINTS.includes(element.dataset.chart) ? "canvas" : "svg",
      config: config(),
      tooltip: (_handler, event, _item, value) => showTip(event, linesOf(value)),
    });
    if (drawn.get(element) !== entry) {
      embedded.finalize();
      return null;
    }
    entry.view = embedded.view;
    if (options.describe) {
      embedded.view.addEventListener("pointermove", (event, item) => {
        showTip(event, (item && item.datum && options.describe(item.datum)) || null);
      });
    }
    element.onpointerleave = hideTip;
    if (options.ready) options.ready(embedded.view);
    return embedded.view;
  }

  function redraw() {
    for (const [element, entry] of [...drawn]) {
      if (!element.isConnected) {
        entry.view?.finalize();
        drawn.delete(element);
      } else if (entry.theme !== theme()) {
        draw(element, entry.spec, entry.options);
      }
    }
  }

  dark.addEventListener("change", redraw);
  print.addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  // Tooltip lines for a row in the angle plane; null for anything else under the pointer.
  function pointLines(datum) {
    if (datum?.theta_rc === undefined || datum.position === undefined) return null;
    const numbers = { SGI: datum.value, "θ(r, c)": datum.theta_rc, "θ(r, q)": datum.theta_rq };
    const texts = Object.entries(numbers).map(([name, value]) => [name, value.toFixed(4)]);
    return [["row", datum.id], ["", datum.label], ...texts];
  }

  return { draw, idle, pointLines, theme };
})();
