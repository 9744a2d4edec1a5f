/** `svc plugins inspect` and the columns of `svc plugins list` that appear when there is something to see. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { ResultOf } from "@svc/sdk";
import { plugins } from "@svc/sdk/plugins";
import { inspectionLines, packageLines } from "../../../../plugins/plugins/cli/inspection-text.ts";
import { tableOf } from "../../../../plugins/plugins/cli/list.ts";
import { home } from "../../../host/cli/svc.ts";

const known: ResultOf<typeof plugins.inspect> = {
  plugin: { id: "pen", version: "1.2.0", state: "active", generation: 1, errors: 0, inert: [] },
  stats: {
    calls: 0,
    inFlight: 0,
    errors: 0,
    p50Ms: null,
    p99Ms: null,
    maxMs: null,
    hookRuns: 0,
    hookErrors: 0,
    memoryBytes: null,
    blocks: 0,
    longestBlockMs: 0,
  },
  package: { origin: "@x/pen", directory: "/plugins/pen", description: "Writes" },
  placements: { now: "host", supports: ["host"] },
  declares: {
    methods: [],
    events: [],
    routes: [],
    hooks: [],
    emits: [],
    services: [],
    requires: [],
    extensions: [],
    points: [],
    sections: [],
    commands: [],
  },
};

describe("an inspection in words", () => {
  it("says nothing of what there is nothing of", () => {
    assert.deepEqual(inspectionLines(known), [
      "pen 1.2.0: active",
      "  about    Writes",
      "  package  /plugins/pen",
      "  runs in  host",
      "",
      "Resource usage since the gateway started",
      "  calls       0, 0 pending",
      "  hooks       0 runs, 0 failed",
      "  errors      0",
      "  event loop  never blocked",
      "  memory      shared with the gateway; known only for plugins that run as worker or process",
    ]);
  });

  it("says what it costs, declares and asks for", () => {
    const calls = { calls: 9, inFlight: 1, p50Ms: 0.5, p99Ms: 12.5, maxMs: 2_345 };
    const blame = { at: 0, where: "method pen.write", message: "out of ink\n\u001b[31m" };
    const lines = inspectionLines({
      ...known,
      plugin: { ...known.plugin, generation: 3, blame, inert: ["tool x"] },
      stats: { ...known.stats, ...calls, errors: 2, blocks: 1, longestBlockMs: 1_600, memoryBytes: 3 * 1_048_576 },
      placements: { now: "worker", supports: ["host", "worker"] },
      permissions: { exec: true, net: ["example.org:443"] },
      declares: {
        ...known.declares,
        methods: Array.from({ length: 5 }, (_, nth) => ({ name: `pen.write${nth}`, scope: "operator.write" })),
        requires: [
          { name: "ink", version: "1.0.0", kind: "hard", provider: "well" },
          { name: "paper", version: "2.0.0", kind: "live" },
        ],
      },
    });
    assert.deepEqual(lines, [
      "pen 1.2.0: active, generation 3",
      "  about      Writes",
      "  package    /plugins/pen",
      "  runs in    worker, can run in host",
      "  no effect  tool x",
      "",
      "Resource usage since the gateway started",
      "  calls       9, 1 pending; 50 % within 0.5 ms, 99 % within 13 ms, slowest 2.3 s",
      "  hooks       0 runs, 0 failed",
      "  errors      2",
      "  last error  1970-01-01 00:00:00Z in method pen.write: out of ink\\u000a\\u001b[31m",
      "  event loop  blocked once, longest 1.6 s",
      "  memory      3.0 MiB",
      "",
      "Declares",
      "  methods   pen.write0 (scope operator.write), pen.write1 (scope operator.write),",
      "            pen.write2 (scope operator.write), pen.write3 (scope operator.write),",
      "            pen.write4 (scope operator.write)",
      "  requires  ink (version 1.0.0, kind hard, provider well), paper (version 2.0.0, kind live)",
      "",
      "Requests",
      "  exec  yes",
      '  net   ["example.org:443"]',
    ]);
  });

  it("of one that was never started says what its package says", () => {
    const manifest = {
      id: "pen",
      api: "^1.0.0",
      entry: "./pen.js",
      version: "1.2.0",
      directory: "/plugins/pen",
      namespaces: ["pen"],
      routes: ["/pen"],
      contributes: { tool: ["write", "erase"] },
    };
    assert.deepEqual(packageLines("pen", manifest, undefined), [
      "pen 1.2.0: not started yet",
      "  package  /plugins/pen",
      "",
      "According to its package",
      "  serves   pen.*",
      "  routes   /pen*",
      "  extends  tool write, tool erase",
    ]);
  });
});

describe("the table of plugins", () => {
  const row = { id: "pen", version: "1.2.0", state: "active", origin: "x" };
  const blame = { at: 0, where: "timer", message: "out of\nink" };
  const long = { ...blame, message: `${blame.message}${"k".repeat(90)}` };
  const rows: [what: string, rows: Parameters<typeof tableOf>[0], table: string[]][] = [
    ["has no column without content", [{ ...row, errors: 0 }], ["PLUGIN|VERSION|STATE|ABOUT", "pen|1.2.0|active|"]],
    [
      "shows where one runs, as soon as it is not the host",
      [row, { ...row, placement: "worker" }],
      ["PLUGIN|VERSION|STATE|PLACE|ABOUT", "pen|1.2.0|active|host|", "pen|1.2.0|active|worker|"],
    ],
    [
      "shows errors, and the last of them in one line",
      [
        { ...row, errors: 0 },
        { ...row, errors: 2, blame: long },
      ],
      [
        "PLUGIN|VERSION|STATE|ERRORS|LAST ERROR|ABOUT",
        "pen|1.2.0|active|||",
        `pen|1.2.0|active|2|timer: out of\\u000aink${"k".repeat(42)}…|`,
      ],
    ],
  ];
  for (const [what, given, table] of rows)
    it(what, () => {
      const lines = tableOf(given, "gateway").map((cells) => cells.join("|"));
      assert.deepEqual(lines, table);
    });
});

describe("svc plugins inspect", { timeout: 120_000 }, () => {
  it("asks the running gateway, and tells of the package without one", async (t) => {
    const here = home(t, { plugins: { use: ["plugins", "./pen.ts"] } });
    writeFileSync(
      join(dirname(here.configPath), "pen.ts"),
      `import { definePlugin } from "@svc/sdk";
export default definePlugin({ id: "pen", api: "^1.0.0", setup: (g) => g.after(1, () => { throw new Error("out of ink"); }) });
`,
    );
    const { stop } = await here.run();
    const json = async (id: string) => JSON.parse((await here.svc(["plugins", "inspect", id, "--json"])).stdout);
    const pen = await json("pen");
    assert.deepEqual([pen.source, pen.id, pen.stats.errors, pen.plugin.blame.where], ["gateway", "pen", 1, "after()"]);
    const own = await json("plugins");
    assert.deepEqual([own.manifest.id, own.declares.methods.length], ["plugins", Object.keys(plugins).length]);
    const { stdout } = await here.svc(["plugins", "inspect", "pen"]);
    assert.match(stdout, /^pen 0\.0\.0: active\n/);
    assert.match(stdout, /^ {2}last error +\S+ \S+Z in after\(\): out of ink$/m);
    const listed = (await here.svc(["plugins", "list"])).stdout;
    assert.match(listed, /^PLUGIN +VERSION +STATE +ERRORS +LAST ERROR +ABOUT$/m);
    assert.match(listed, /^pen +0\.0\.0 +active +1 +after\(\): out of ink$/m);
    await stop();
    const later = await here.svc(["plugins", "inspect", "plugins"]);
    assert.match(later.stdout, /^plugins \S+: asleep at the last start\n/);
    assert.match(later.stderr, /^Resource usage is unknown: cannot reach ws:/);
  });
});
