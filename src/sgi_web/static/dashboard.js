// Draws charts, filters rows by a brush on the angle plane, and announces changes to screen readers.
"use strict";
(() => {
  const BRUSH = ["rc_low", "rc_high", "rq_low", "rq_high"];

  function announce(text) {
    const place = document.getElementById("announcement");
    if (place && text) place.textContent = text;
  }

  function figureOf(id, spec) {
    const { title: name, description } = spec.usermeta;
    const figure = document.createElement("figure");
    figure.className = "figure";
    const place = document.createElement("div");
    place.className = "chart";
    place.dataset.chart = id;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${name}. ${description}`);
    const caption = document.createElement("figcaption");
    const title = document.createElement("strong");
    title.dir = "auto";
    title.textContent = name;
    const text = document.createElement("span");
    text.dir = "auto";
    text.textContent = description;
    caption.append(title, " ", text);
    figure.append(place, caption);
    return { id, spec, figure, place };
  }

  function filterByPlane(ends) {
    const form = document.getElementById("filters");
    if (!form) return;
    BRUSH.forEach((name, n) => { form.elements[name].value = ends ? ends[n].toFixed(4) : ""; });
    if (ends) form.elements.rc_low.closest("details").open = true;
    form.elements.rc_low.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function watchBrush(view) {
    let waiting = 0;
    view.addSignalListener("brush", (_name, selection) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const pairs = selection && selection.theta_rc && selection.theta_rq ? [selection.theta_rc, selection.theta_rq] : null;
        filterByPlane(pairs && pairs.flatMap((pair) => [...pair].sort((a, b) => a - b)));
      }, 200);
    });
  }

  function showMessage(section, text) {
    const line = document.createElement("p");
    line.className = "faint";
    line.textContent = text;
    section.replaceChildren(line);
  }

  let vega = null;

  // Vega is large: it is loaded with the first chart, so that it does not delay the page.
  function loadVega() {
    vega ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "/static/vega.js";
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => {
        vega = null;
        reject(new Error("the chart library was not loaded"));
      });
      document.head.append(script);
    });
    return vega;
  }

  async function drawCharts(section) {
    section.setAttribute("aria-busy", "true");
    try {
      const library = loadVega();
      const answer = await fetch(section.dataset.charts, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`the server returned status ${answer.status}`);
      const charts = Object.entries((await answer.json()).charts);
      if (!charts.length) {
        showMessage(section, "No charts to show.");
        return;
      }
      const figures = charts.map(([id, spec]) => figureOf(id, spec));
      section.replaceChildren(...figures.map(({ figure }) => figure));
      await library;
      const ofPlane = { describe: sgiCharts.pointLines, ready: watchBrush };
      for (const { id, spec, place } of figures) {
        await sgiCharts.idle();
        await sgiCharts.draw(place, spec, id === "plane" ? ofPlane : {});
      }
      section.dataset.drawn = String(figures.length);
    } catch (problem) {
      showMessage(section, `Cannot draw the charts: ${problem.message}.`);
    } finally {
      section.removeAttribute("aria-busy");
    }
  }

  function checkSize(field) {
    const place = document.getElementById("file-problem");
    const file = field.files[0];
    const isTooLarge = Boolean(file) && file.size > Number(field.dataset.limit);
    field.setCustomValidity(isTooLarge ? "The file is too large." : "");
    place.hidden = !isTooLarge;
    place.textContent = isTooLarge ? `${file.name} exceeds the upload limit. Score it with: sgi run` : "";
  }

  document.addEventListener("change", (event) => {
    if (event.target.matches("input[type=file][data-limit]")) checkSize(event.target);
  });
  document.addEventListener("htmx:after:swap", () => {
    const changed = document.querySelector("#rows [data-announce], #runs[data-announce]");
    if (changed) announce(changed.dataset.announce);
  });
  // A header that sorts also sets the fields of the form, so that the next filter keeps the order.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("#rows a.sort");
    const form = document.getElementById("filters");
    if (!link || !form) return;
    const chosen = new URL(link.href).searchParams;
    form.elements.sort.value = chosen.get("sort") ?? "position";
    if (chosen.has("metric")) form.elements.metric.value = chosen.get("metric");
  });

  // Keys of lists and rows: j and k move through the links of a list, or to the next and the previous row.
  function pressed(event) {
    if (event.key === "Escape" && event.target.matches("textarea[data-key]")) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (target) {
      event.preventDefault();
      target[target.matches("textarea") ? "focus" : "click"]();
      return;
    }
    const step = { j: 1, k: -1 }[event.key];
    const search = document.querySelector("input[type=search]");
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "u") {
      document.querySelector("a[data-back]")?.click();
    } else if (step) {
      const row = document.querySelector(step > 0 ? "a[rel=next][data-row]" : "a[rel=prev][data-row]");
      const links = [...document.querySelectorAll("#rows tbody th a, #runs tbody th a")];
      const at = links.indexOf(document.activeElement);
      (row ?? links[Math.min(links.length - 1, Math.max(0, at + step))])?.[row ? "click" : "focus"]();
    }
  }
  document.addEventListener("keydown", pressed);

  // What a closed section needs is loaded when it is opened for the first time.
  function loadSection(section) {
    section.querySelectorAll("[data-charts]").forEach(drawCharts);
    section.querySelectorAll("[hx-trigger^=section-open]").forEach((part) => part.dispatchEvent(new Event("section-open")));
  }

  document.querySelectorAll("[data-charts]").forEach((place) => {
    if (!place.closest("details.section")) drawCharts(place);
  });
  document.querySelectorAll("details.section").forEach((section) => {
    section.addEventListener("toggle", () => loadSection(section), { once: true });
  });
})();
