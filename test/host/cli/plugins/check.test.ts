/** `svc plugins check`: the bundle is fit to be used, and what is wrong with a plugin is found, named, and comes with a next step. */
import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { checkPlugin, type CheckTask } from "../../../../host/cli/plugins/check/check-task.ts";
import type { Finding } from "../../../../host/cli/plugins/check/findings.ts";
import { importedPackages } from "../../../../host/cli/plugins/check/imports.ts";
import { covers } from "../../../../host/cli/plugins/check/package-facts.ts";
import { root } from "../../../checkout.ts";
import { home } from "../svc.ts";

/** Packages of the checkout that are plugins. */
const packages = ["plugins", "examples"].flatMap((room) =>
  readdirSync(join(root, room))
    .map((name) => join(room, name))
    .filter((directory) => {
      const file = join(root, directory, "package.json");
      return existsSync(file) && "svc" in (JSON.parse(readFileSync(file, "utf8")) as object);
    }),
);

async function findings(directory: string, more: Partial<CheckTask> = {}): Promise<Finding[]> {
  const found: Finding[] = [];
  const task = { directory: realpathSync(directory), config: {}, samples: {}, ...more };
  await checkPlugin(task, (finding) => found.push(finding));
  return found;
}

/** The same in a process of its own, for plugins that leave something open. */
async function findingsApart(t: TestContext, directory: string): Promise<Finding[]> {
  const { stdout } = await home(t).svc(["plugins", "check", directory, "--json"]);
  return (JSON.parse(stdout) as { checks: Finding[] }).checks;
}

const failures = (found: readonly Finding[]) =>
  found.flatMap(({ check, problems }) =>
    problems.flatMap(({ level, why }) => (level === "failed" ? [`${check}: ${why}`] : [])),
  );

describe("every plugin of the checkout", { timeout: 240_000 }, () => {
  it("is there to be checked", () => assert.ok(packages.length > 20));

  for (const directory of packages)
    it(`${directory} is fit to be used`, async () => {
      const found = await findings(join(root, directory), { reloads: 2 }); // test/fault/reload-bundle.test.ts does more
      assert.deepEqual(failures(found), []);
      const unsaid = found.flatMap(({ check, problems }) =>
        problems.flatMap(({ why }) => (check === "contracts" ? [] : [`${check}: ${why}`])),
      );
      assert.deepEqual(unsaid, [], "warnings are only about what the wire asks for");
      assert.ok(found.length >= 10, found.map(({ check }) => check).join());
    });
});

/** A plugin that passes, in a directory of its own; each case changes one thing of it. */
function notes(
  t: TestContext,
  change: { plugin?: [string, string]; json?: (json: Json) => void; readme?: string } = {},
): string {
  const parent = mkdtempSync(join(tmpdir(), "svc-check-test-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, "notes");
  cpSync(join(root, "host/cli/plugins/new/templates/namespace"), directory, { recursive: true });
  for (const file of ["plugin.ts", "README.md"]) {
    const text = readFileSync(join(directory, file), "utf8");
    writeFileSync(join(directory, file), text.replaceAll("sample-name", "notes").replaceAll("sampleName", "notes"));
  }
  const json: Json = {
    name: "svc-plugin-notes",
    version: "0.1.0",
    description: "Notes",
    license: "MIT",
    type: "module",
    files: ["*.ts"],
    peerDependencies: { "@svc/sdk": "^1.0.0" },
    engines: { node: ">=20.19" },
    svc: { id: "notes", api: "^1.0.0", entry: "./plugin.ts", namespaces: ["notes"] },
  };
  change.json?.(json);
  writeFileSync(join(directory, "package.json"), JSON.stringify(json));
  if (change.readme !== undefined) writeFileSync(join(directory, "README.md"), change.readme);
  if (change.plugin) {
    const [from, to] = change.plugin;
    const text = readFileSync(join(directory, "plugin.ts"), "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(join(directory, "plugin.ts"), text.replace(from, to));
  }
  return directory;
}

interface Json {
  [key: string]: unknown;
  svc: Record<string, unknown>;
}

const START = "gateway.serve(notesContract, {";

describe("a plugin that is not fit", { timeout: 120_000 }, () => {
  it("differs from one that is", async (t) => {
    const found = await findings(notes(t), { samples: { "notes.hello": [{ name: "Ada" }] } });
    assert.deepEqual(
      found.flatMap(({ problems }) => problems),
      [],
    );
  });

  const cases: readonly [what: string, change: Parameters<typeof notes>[1] & object, finding: RegExp][] = [
    ["has no license", { json: (json) => delete json["license"] }, /^package: it has no license/],
    [
      "leaves its entry at home",
      { json: (json) => (json["files"] = ["lib"]) },
      /^package: \.\/plugin\.ts would not be published/,
    ],
    [
      "brings its own SDK",
      { json: (json) => (json["dependencies"] = { "@svc/sdk": "1.0.0" }) },
      /^package: it would bring an SDK/,
    ],
    [
      "depends on the host",
      { json: (json) => (json["dependencies"] = { "@svc/host": "0.1.0" }) },
      /^package: it depends on the host/,
    ],
    [
      "imports what it does not declare",
      { plugin: ["import {", 'import "left-pad";\nimport {'] },
      /^imports: plugin\.ts imports left-pad/,
    ],
    [
      "serves outside its namespaces",
      { json: (json) => (json.svc["namespaces"] = ["other"]) },
      /^manifest: notes\.hello is outside its namespaces/,
    ],
    [
      "has another section",
      { plugin: ["config: Strict", 'section: "note",\n  config: Strict'] },
      /^manifest: its section is "note"/,
    ],
    [
      "taps a gate in silence",
      { plugin: [START, `gateway.hooks.admit.tap("notes", () => undefined);\n${START}`] },
      /^manifest: it taps the gate admit/,
    ],
    [
      "has a method without words",
      { plugin: ['summary: "Greet somebody"', 'summary: ""'] },
      /^contracts: notes\.hello has no summary/,
    ],
    [
      "opens something in setup",
      { plugin: [START, `setInterval(() => {}, 1e6);\n${START}`] },
      /^setup: setup opens Timeout/,
    ],
    [
      "leaves a socket at each reload",
      { plugin: [START, `gateway.start(() => void createServer().listen(0));\n${START}`] },
      /^reload: the reloads leave open resources behind: \d+ TCPServerWrap/,
    ],
    [
      "leaves a timer at each reload",
      { plugin: [START, `gateway.start(() => void gateway.clock.setInterval(() => {}, 1e6));\n${START}`] },
      /^reload: 20 timers stay/,
    ],
    [
      "keeps what it had",
      { plugin: [START, `kept.push(new Array(50_000).fill(count));\n${START}`] },
      /^memory: each reload leaves \d+ KiB/,
    ],
    [
      "does not start",
      { plugin: [START, `gateway.start(() => Promise.reject(new Error("no disk")));\n${START}`] },
      /^start: it is failed: start: no disk/,
    ],
    [
      "cannot be imported",
      { plugin: ["export default", "const x = = 1;\nexport default"] },
      /^start: it cannot be imported: .*Unexpected token/,
    ],
    [
      "cannot be moved where it says",
      { json: (json) => (json.svc["isolation"] = { supports: ["worker"], default: "host" }) },
      /^placement: it prefers host/,
    ],
    [
      "has a silent README",
      { readme: "# notes\n\n`word`" },
      /^readme: README\.md does not name the methods notes\.hello, notes\.count/,
    ],
    [
      "does not say how it is configured",
      { readme: "`notes.hello` `.count`" },
      /^readme: README\.md does not name the keys word/,
    ],
    [
      "lists a command it does not have",
      { json: (json) => Object.assign(json.svc, { cli: "./plugin.ts", commands: [{ name: "notes", summary: "-" }] }) },
      /^commands: /,
    ],
  ];
  const imports = 'import { createServer } from "node:net";\nconst kept: unknown[] = [];\n';
  for (const [what, change, finding] of cases)
    it(`${what}`, async (t) => {
      const directory = notes(t, change);
      const file = join(directory, "plugin.ts");
      writeFileSync(file, imports + readFileSync(file, "utf8"));
      const leaks = /setup opens|stay|leave/.test(finding.source);
      const found = failures(await (leaks ? findingsApart(t, directory) : findings(directory, { reloads: 2 })));
      assert.ok(
        found.some((line) => finding.test(line)),
        found.join("\n") || "nothing was found",
      );
    });

  it("answers a sample with something else than it says", async (t) => {
    const directory = notes(t, { plugin: ["count: () => ({ greeted: count })", "count: () => ({ greeted: -1 })"] });
    const found = failures(await findings(directory, { samples: { "notes.count": [{}], "notes.none": [{}] } }));
    assert.match(found.join("\n"), /^results: notes\.count with \{\} is refused: .*internal error/m);
    assert.match(found.join("\n"), /^results: there are samples for notes\.none/m);
  });
});

describe("svc plugins check", { timeout: 60_000 }, () => {
  it("prints a line for each check, exits 0, and says it as JSON", async (t) => {
    const { svc } = home(t);
    const directory = notes(t);
    const { code, stdout } = await svc(["plugins", "check", directory]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^ok {7}package\n(ok {7}\w+\n)+fit to be used \(0 warnings\)\n$/);
    const { ok, checks } = JSON.parse((await svc(["plugins", "check", directory, "--json"])).stdout);
    assert.equal(ok, true);
    assert.ok(checks.length >= 10);
  });

  it("exits 1 with the reason and the next step, and outlives what the plugin does to its process", async (t) => {
    const { svc } = home(t);
    const directory = notes(t, { plugin: [START, `gateway.start(() => process.exit(7));\n${START}`] });
    const { code, stdout } = await svc(["plugins", "check", directory]);
    assert.equal(code, 1);
    assert.match(stdout, /^ok {7}package$/m);
    assert.match(stdout, /^failed {3}process: its process ended with 7 in the middle\n {9}Next: /m);
    assert.match((await svc(["plugins", "check", tmpdir()])).stderr, /there is no package\.json in .*\nNext: /);
  });

  it("tries the plugin with the configuration it is given", async (t) => {
    const { svc } = home(t);
    const directory = notes(t, { plugin: ['word: Type.String({ default: "Hello", ', "word: Type.String({ "] });
    assert.match(
      (await svc(["plugins", "check", directory])).stdout,
      /^failed {3}start: it is blocked: configuration: /m,
    );
    writeFileSync(join(directory, "try.json5"), "{ notes: { word: 'Hi' } }");
    const { code, stdout } = await svc(["plugins", "check", directory, "--config", join(directory, "try.json5")]);
    assert.equal(code, 0, stdout);
  });
});

describe("which packages a file imports", () => {
  it("is seen in every way of importing, types and comments aside", () => {
    const text = `import a from "a";
import { type B, c } from "@scope/b/sub";
import type { D } from "d";
export * from "e";
export type { F } from "f";
import "g";
const h = await import("h/x");
// import "i";
/* import "j"; */
import { readFile } from "node:fs/promises";
import fs from "fs";
import "./own.ts";`;
    assert.deepEqual(importedPackages(text).toSorted(), ["@scope/b", "a", "e", "g", "h"]);
  });
});

describe("the files of a package", () => {
  const rows: [files: string[], path: string, held: boolean][] = [
    [["dist"], "./dist/plugin.js", true],
    [["dist/"], "dist/deep/plugin.js", true],
    [["*.ts"], "./plugin.ts", true],
    [["*.ts"], "./src/plugin.ts", false],
    [["src/**/*.ts"], "./src/a/plugin.ts", true],
    [["src/**/*.ts"], "./src/plugin.ts", true],
    [["./plugin.ts"], "./plugin.ts", true],
    [["dist"], "./distant.js", false],
    [[], "./plugin.ts", false],
  ];
  for (const [files, path, held] of rows)
    it(`${JSON.stringify(files)} ${held ? "hold" : "do not hold"} ${path}`, () =>
      assert.equal(covers(files, path), held));
});
