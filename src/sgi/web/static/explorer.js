// Shows the API as forms that can be sent. Examples use runs that exist, and nothing is sent to another server.
"use strict";
(async () => {
  const place = document.getElementById("explorer");
  const api = place.dataset.api;

  async function read(path) {
    const reply = await fetch(`${api}${path}`, { headers: { Accept: "application/json" } });
    if (!reply.ok) throw new Error(`the server returned status ${reply.status}`);
    return reply.json();
  }

  function setExamples(document, examples) {
    for (const [path, values] of Object.entries(examples)) {
      for (const parameter of document.paths[`/api/v1${path}`].get.parameters) {
        if (parameter.name in values) parameter.example = values[parameter.name];
      }
    }
  }

  // A row and two runs of this server, if there are any.
  async function examplesOfRuns() {
    const { runs } = await read("/runs?size=2");
    if (!runs.length) return {};
    const { rows } = await read("/runs/last/samples?size=1");
    const compared = runs.length > 1 ? { "/compare": { base: runs[1].id, new: runs[0].id } } : {};
    return { ...compared, "/runs/{run}/samples/{sample_id}": { sample_id: rows[0]?.id ?? "1" } };
  }

  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const setTheme = () => document.documentElement.classList.toggle("dark-mode", isDark.matches);
  isDark.addEventListener("change", setTheme);
  setTheme();

  try {
    const spec = await read("/openapi.json");
    setExamples(spec, await examplesOfRuns().catch(() => ({})));
    SwaggerUIBundle({
      spec,
      domNode: place,
      deepLinking: true,
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: null,
    });
  } catch (problem) {
    place.textContent = `Cannot show the API: ${problem.message}.`;
  }
})();
