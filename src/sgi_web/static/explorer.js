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

  // Swagger UI fills a form from `example` of a parameter, not from `examples` of its schema.
  function setExamples(spec, examplesOfPaths) {
    for (const [path, operations] of Object.entries(spec.paths)) {
      for (const parameter of Object.values(operations).flatMap((operation) => operation.parameters ?? [])) {
        const example = examplesOfPaths[path]?.[parameter.name] ?? parameter.schema.examples?.[0];
        if (example !== undefined) parameter.example = example;
      }
    }
  }

  // A row of the newest run, and the two newest runs of the same data, if there are any.
  async function examplesOfRuns() {
    const { runs } = await read("/runs?size=50");
    if (!runs.length) return {};
    const { rows } = await read("/runs/last/samples?size=1");
    const ofRow = { [`${api}/runs/{run}/samples/{sample_id}`]: { sample_id: rows[0]?.id } };
    const later = runs.find((run, n) => runs.slice(n + 1).some((other) => other.data === run.data));
    if (!later) return ofRow;
    const earlier = runs.filter((run) => run.data === later.data)[1];
    return {
      ...ofRow,
      [`${api}/compare`]: { base: earlier.id, new: later.id },
      [`${api}/leaderboard`]: { run: [earlier.id, later.id] },
    };
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
