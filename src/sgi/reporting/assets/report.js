// Table of rows, filters, row panel and charts of a report. All data is in the page and is shown as text only.
"use strict";
(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en");
  let charts = {};
  let rows = null;
  const angles = new Map();
  let plane = null;

  // Data of the page; large data is compressed.
  async function block(name) {
    const element = byId(`data-${name}`);
    if (!element) return null;
    if (element.type === "application/json") return JSON.parse(element.textContent);
    const bytes = Uint8Array.from(atob(element.textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function make(tag, text = "", attributes = {}) {
    const element = document.createElement(tag);
    if (text !== "") element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // Button that switches between the light and the dark theme; the choice is not stored.
  function startTheme() {
    const button = byId("theme");
    const showTheme = () => {
      const dark = window.sgiCharts.theme() === "dark";
      button.textContent = dark ? "Light" : "Dark";
      button.setAttribute("aria-label", dark ? "Switch to light theme" : "Switch to dark theme");
    };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = window.sgiCharts.theme() === "dark" ? "light" : "dark";
      showTheme();
    });
    showTheme();
    button.hidden = false;
  }

  const lacking = (column, at) => column.lacking[at] || ["", 0];
  const shown = (value) => (value === null || value === undefined ? "–" : String(value));
  const decimals = (value) => value.toFixed(4);

  // ---- the table of rows
  const state = { order: [], by: null, down: false, page: 0, text: "", status: "", label: "", range: null };
  let texts = null;

  function columnValue(by, at) {
    if (by === "position") return rows.positions[at];
    if (by === "id") return rows.ids[at];
    if (by === "label") return rows.labels[at];
    if (by === "question") return rows.questions[at];
    if (by === "response") return rows.responses[at];
    return rows.columns[by].values[at];
  }

  function fits(at) {
    if (state.label !== "") {
      const label = rows.labels[at];
      if (state.label === "none" ? label !== null : label !== Number(state.label)) return false;
    }
    if (state.status === "ok") {
      if (rows.columns.some((column) => column.values[at] === null)) return false;
    } else if (state.status && !rows.columns.some((column) => lacking(column, at)[0] === state.status)) {
      return false;
    }
    if (state.range) {
      const pair = angles.get(rows.positions[at]);
      if (!pair) return false;
      const [low, high, down, up] = state.range;
      if (pair[0] < low || pair[0] > high || pair[1] < down || pair[1] > up) return false;
    }
    return !state.text || textOf(at).includes(state.text);
  }

  function textOf(at) {
    texts = texts || rows.ids.map((id, n) => `${id}\n${rows.questions[n]}\n${rows.responses[n]}`.toLowerCase());
    return texts[at];
  }

  function compare(one, other) {
    const first = columnValue(state.by, one);
    const second = columnValue(state.by, other);
    if (first === null || second === null) return (first === null) - (second === null) || one - other;
    const side = typeof first === "string" ? first.localeCompare(second, "en", { numeric: true }) : first - second;
    return (state.down ? -side : side) || one - other;
  }

  function update() {
    state.order = rows.ids.map((_, at) => at).filter(fits);
    if (state.by !== null) state.order.sort(compare);
    state.page = 0;
    show();
    const all = rows.ids.length;
    const count = state.order.length;
    byId("rows-count").textContent = `${number.format(count)} of ${number.format(all)} rows shown`;
    const inside = byId("angles-count");
    if (inside) inside.textContent = state.range ? `${number.format(count)} rows are in the table below.` : "";
  }

  function show() {
    const pages = Math.max(1, Math.ceil(state.order.length / PAGE));
    state.page = Math.min(Math.max(0, state.page), pages - 1);
    const part = state.order.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const body = byId("rows-table").querySelector("tbody");
    body.replaceChildren(...(part.length ? part.map(line) : [emptyLine()]));
    byId("page-now").textContent = `Page ${number.format(state.page + 1)} of ${number.format(pages)}`;
    for (const button of byId("pages").querySelectorAll("button")) {
      const back = ["first", "previous"].includes(button.dataset.to);
      button.disabled = back ? state.page === 0 : state.page === pages - 1;
    }
  }

  function emptyLine() {
    const row = make("tr");
    row.append(make("td", "No rows match the filters.", { colspan: String(5 + rows.metrics.length) }));
    return row;
  }

  function line(at) {
    const row = make("tr");
    row.dataset.at = String(at);
    const name = make("th", "", { scope: "row", dir: "auto" });
    name.append(make("button", rows.ids[at], { type: "button", class: "link" }));
    row.append(
      make("td", number.format(rows.positions[at]), { class: "n" }),
      name,
      make("td", shown(rows.labels[at])),
      brief(rows.questions[at]),
      brief(rows.responses[at]),
      ...rows.columns.map((column) => cell(column, at)),
    );
    return row;
  }

  function brief(text) {
    const element = make("td", "", { class: "brief", dir: "auto" });
    element.append(make("span", text));
    return element;
  }

  function cell(column, at) {
    const value = column.values[at];
    if (value !== null) return make("td", decimals(value), { class: "n" });
    const [status, reason] = lacking(column, at);
    const element = make("td", "", { class: "n faint" });
    element.append(make("abbr", status, { title: rows.reasons[reason] || "" }));
    return element;
  }

  function startTable() {
    const columns = ["position", "id", "label", "question", "response", ...rows.metrics.keys()];
    const heads = [...byId("rows-table").querySelectorAll("thead th")];
    heads.forEach((head, place) => {
      const button = make("button", head.textContent, { type: "button", class: "sort" });
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        state.down = state.by === columns[place] && !state.down;
        state.by = columns[place];
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        update();
      });
    });
    byId("rows-table").addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-at]");
      if (row && !String(getSelection())) openRow(Number(row.dataset.at));
    });
    byId("pages").addEventListener("click", (event) => {
      const to = event.target.dataset.to;
      if (!to) return;
      state.page = { first: 0, previous: state.page - 1, next: state.page + 1, last: Infinity }[to];
      show();
    });
    byId("pages").hidden = false;
    startFilters();
    update();
  }

  function startFilters() {
    const form = byId("filters");
    let timer = 0;
    const read = () => {
      state.text = form.elements.text.value.trim().toLowerCase();
      state.status = form.elements.status.value;
      state.label = form.elements.label.value;
      update();
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(read, 120);
    });
    form.addEventListener("reset", () => setTimeout(() => {
      state.by = null;
      byId("rows-table").querySelectorAll("thead th").forEach((head) => head.setAttribute("aria-sort", "none"));
      clearAngles();
      read();
    }));
    form.hidden = false;
  }

  // ---- one row
  function openRow(at) {
    const position = rows.positions[at];
    byId("panel-title").textContent = rows.ids[at];
    const details = rows.detailed.has(position) ? byId(`row-${position}`)?.querySelector(".row-details") : null;
    byId("panel-body").replaceChildren(details ? details.cloneNode(true) : summaryOf(at));
    byId("panel").showModal();
    byId("panel-body").scrollTop = 0;
  }

  function summaryOf(at) {
    const summary = make("div", "", { class: "row-details" });
    const facts = make("dl", "", { class: "facts" });
    const add = (name, text) => {
      const entry = make("div");
      entry.append(make("dt", name, { dir: "auto" }), make("dd", text, { dir: "auto" }));
      facts.append(entry);
    };
    add("Position", number.format(rows.positions[at]));
    if (rows.labels[at] !== null) add("Label", String(rows.labels[at]));
    rows.metrics.forEach((metric, place) => {
      const column = rows.columns[place];
      const [status, reason] = lacking(column, at);
      const value = column.values[at];
      add(metric, value === null ? `${status}: ${rows.reasons[reason]}` : decimals(value));
    });
    const pair = angles.get(rows.positions[at]);
    if (pair) add("θ(r, c) and θ(r, q)", `${decimals(pair[0])} and ${decimals(pair[1])} rad`);
    summary.append(facts);
    for (const [title, text] of [["Question", rows.questions[at]], ["Response", rows.responses[at]]]) {
      const part = make("div", "", { class: "part" });
      part.append(make("h3", title), make("p", text || "–", { class: "text", dir: "auto" }));
      summary.append(part);
    }
    const hint = make("p", "This file holds only the start of this row’s texts. To show the full texts, run: ", { class: "faint" });
    hint.append(make("code", `sgi show ${rows.run} --sample=${quoted(rows.ids[at])}`));
    summary.append(hint);
    return summary;
  }

  const quoted = (text) => (/^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

  function startPanel() {
    const panel = byId("panel");
    byId("panel-close").addEventListener("click", () => panel.close());
    panel.addEventListener("click", (event) => {
      if (event.target === panel) panel.close();
    });
  }

  // ---- the plane of angles
  const fields = () => ["rc-low", "rc-high", "rq-low", "rq-high"].map((name) => byId("angles-form").elements[name]);

  function readAngles(spec) {
    const layers = [spec, ...(spec.layer || [])];
    const points = layers.find((layer) => layer.data?.name === "points")?.data.values || "[]";
    for (const point of JSON.parse(points)) angles.set(point.position, [point.theta_rc, point.theta_rq]);
  }

  function filterBy(range) {
    state.range = range;
    update();
  }

  function typedRange() {
    const [low, high, down, up] = fields().map((field) => field.value);
    if ([low, high, down, up].every((value) => value === "")) return null;
    const end = (value, without) => (value === "" ? without : Number(value));
    return [end(low, -Infinity), end(high, Infinity), end(down, -Infinity), end(up, Infinity)];
  }

  let timer = 0;
  let clearing = false;
  function brushed(selection) {
    clearTimeout(timer);
    if (clearing) return;
    timer = setTimeout(() => {
      const drawnRange = selection.theta_rc && selection.theta_rq ? [selection.theta_rc, selection.theta_rq] : null;
      const ends = drawnRange ? drawnRange.flatMap((pair) => [...pair].sort((a, b) => a - b)) : null;
      fields().forEach((field, place) => { field.value = ends ? ends[place].toFixed(4) : ""; });
      filterBy(ends);
    }, 60);
  }

  async function clearBrush() {
    clearing = true;
    try {
      if (plane) await plane.signal("brush_x", [0, 0]).signal("brush_y", [0, 0]).runAsync();
    } finally {
      clearing = false;
    }
  }

  function clearAngles() {
    const form = byId("angles-form");
    if (!form) return;
    fields().forEach((field) => { field.value = ""; });
    state.range = null;
    clearBrush();
  }

  function describePoint(datum) {
    const lines = window.sgiCharts.pointLines(datum);
    const at = lines && rows.place.get(datum.position);
    if (!lines || at === undefined) return lines;
    return [...lines, ["question", rows.questions[at].slice(0, 120)], ["response", rows.responses[at].slice(0, 120)]];
  }

  function planeReady(view) {
    plane = view;
    view.addSignalListener("brush", (_name, selection) => brushed(selection || {}));
    let start = null;
    view.addEventListener("pointerdown", (event) => { start = [event.clientX, event.clientY]; });
    view.addEventListener("click", (event, item) => {
      const moved = start && Math.hypot(event.clientX - start[0], event.clientY - start[1]) > 4;
      const at = rows.place.get(item?.datum?.position);
      if (at !== undefined && !moved) openRow(at);
    });
  }

  function startAngles() {
    const form = byId("angles-form");
    if (!form) return;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        clearBrush();
        filterBy(typedRange());
      }, 120);
    });
    byId("angles-clear").addEventListener("click", () => {
      clearAngles();
      update();
    });
    form.hidden = false;
  }

  // Charts in closed parts come last: they have a size there too, and are ready when the part is opened or printed.
  async function drawAll() {
    const elements = [...document.querySelectorAll("[data-chart]")];
    const isClosed = (element) => element.closest("details:not([open])") !== null;
    for (const element of [...elements.filter((one) => !isClosed(one)), ...elements.filter(isClosed)]) {
      const id = element.dataset.chart;
      await window.sgiCharts.idle();
      const options = id === "plane" ? { describe: describePoint, ready: planeReady } : {};
      try {
        await window.sgiCharts.draw(element, charts[id], options);
      } catch (error) {
        element.replaceChildren(make("p", `Cannot draw this chart: ${error.message}`, { class: "notes" }));
        element.removeAttribute("role");
        element.removeAttribute("aria-label");
      }
    }
    document.documentElement.dataset.charts = "drawn";
  }

  // The table comes first: it works while the larger data of the charts is still being read.
  async function startData() {
    rows = await block("rows");
    if (rows) {
      rows.place = new Map(rows.positions.map((position, at) => [position, at]));
      rows.detailed = new Set(rows.detailed);
      startPanel();
      startTable();
    }
    charts = (await block("charts")) || {};
    if (charts.plane) readAngles(charts.plane);
    if (rows) startAngles();
    await drawAll();
  }

  startTheme();
  startData().catch((error) => {
    const text = `This browser cannot read the data of this report, so charts and filters do not work: ${error.message}`;
    byId("main").prepend(make("p", text, { class: "notes" }));
  });
})();
