// long: starts whole programs
/** `svc plugins check`: the bundle passes, and each fault of a plugin is found, named, and reported with a next step. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { checkPlugin, type CheckTask } from "../../../plugins/dev/check/check-task.ts";
import type { Finding } from "../../../plugins/dev/check/findings.ts";
import { covers, type PackageJson, packageProblems } from "../../../plugins/dev/check/package-facts.ts";
import { importedPackages, importProblems } from "../../../plugins/dev/check/imports.ts";
import { root } from "../../checkout.ts";
import { directory as temporary } from "../../directory.ts";
import { home } from "../../host/cli/svc.ts";
import { emptySchema, withoutPostgres } from "../../postgres.ts";

/** Packages of the checkout that are plugins. */
const packages = ["plugins", "examples"].flatMap((room) =>
  readdirSync(join(root, room))
    .map((name) => join(room, name))
    .filter((directory) => {
      const file = join(root, directory, "package.json");
      return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).svc?.entry !== undefined;
    }),
);

/** Starts only with an address. */
const ON_A_SERVER = "plugins/storage-postgres";

async function findings(directory: string, more: Partial<CheckTask> = {}): Promise<Finding[]> {
  const found: Finding[] = [];
  const task = { directory: realpathSync(directory), config: {}, samples: {}, ...more };
  await checkPlugin(task, (finding) => found.push(finding));
  return found;
}

const failures = (found: readonly Finding[]) =>
  found.flatMap(({ check, problems }) =>
    problems.flatMap(({ level, why }) => (level === "failed" ? [`${check}: ${why}`] : [])),
  );

describe("every plugin of the checkout", { timeout: 240_000 }, () => {
  it("are found", () => assert.ok(packages.length > 20));

  for (const directory of packages)
    it(`${directory} is ready to be published`, { skip: directory === ON_A_SERVER && withoutPostgres() }, async () => {
      const config = directory === ON_A_SERVER ? { "storage-postgres": { url: await emptySchema() } } : {};
      const found = await findings(join(root, directory), { config, reloads: 2 }); // test/fault/reload-bundle.test.ts does more
      assert.deepEqual(failures(found), []);
      const unsaid = found.flatMap(({ check, problems }) =>
        problems.flatMap(({ why }) => (check === "contracts" ? [] : [`${check}: ${why}`])),
      );
      assert.deepEqual(unsaid, [], "warnings are only about what the wire asks for");
      assert.ok(found.length >= 10, found.map(({ check }) => check).join());
    });
});

/** A passing plugin in a temporary directory; `change` edits its files first. */
function notes(
  t: TestContext,
  change: { plugin?: [from: string, to: string][]; json?: object; svc?: object; readme?: string } = {},
) {
  const directory = join(temporary(t), "notes");
  cpSync(join(root, "plugins/dev/new/templates/namespace"), directory, { recursive: true });
  const edit = (file: string, work: (text: string) => string) =>
    writeFileSync(join(directory, file), work(readFileSync(join(directory, file), "utf8")));
  for (const file of ["plugin.ts", "README.md"])
    edit(file, (text) => text.replaceAll("sample-name", "notes").replaceAll("sampleName", "notes"));
  const svc = { id: "notes", api: "^1.0.0", entry: "./plugin.ts", namespaces: ["notes"], ...change.svc };
  writeFileSync(join(directory, "package.json"), JSON.stringify({ ...PACKAGE, ...change.json, svc }));
  if (change.readme !== undefined) writeFileSync(join(directory, "README.md"), change.readme);
  for (const [from, to] of change.plugin ?? [])
    edit("plugin.ts", (text) => {
      assert.ok(text.includes(from), from);
      return text.replace(from, to);
    });
  return directory;
}

const PACKAGE = {
  name: "svc-plugin-notes",
  version: "0.1.0",
  description: "Notes",
  license: "MIT",
  type: "module",
  files: ["*.ts"],
  peerDependencies: { "@svc/sdk": "^1.0.0" },
  engines: { node: ">=20.19" },
};

/** The first declaration in `setup`. */
const SETUP = "gateway.serve(notesContract, {";

/** Expects exactly these lines, in any order. */
function expectExactly(found: readonly string[], wanted: readonly RegExp[]): void {
  for (const line of wanted)
    assert.ok(
      found.some((one) => line.test(one)),
      `${line} is not among:\n${found.join("\n")}`,
    );
  assert.equal(found.length, wanted.length, found.join("\n"));
}

describe("a plugin that is not ready", { timeout: 120_000 }, () => {
  it("passes without the faults below", async (t) => {
    const found = await findings(notes(t), { samples: { "notes.hello": [{ name: "Ada" }] } });
    assert.deepEqual(
      found.flatMap(({ problems }) => problems),
      [],
    );
  });

  const manifest = { id: "notes", api: "^1.0.0", entry: "./plugin.ts", version: "0.1.0", directory: "/nowhere" };
  const rows: readonly [what: string, json: PackageJson, why: RegExp][] = [
    ["has no name", { ...PACKAGE, name: "" }, /^the package has no name$/],
    ["has an invalid version", { ...PACKAGE, version: "1" }, /^the package has no valid version$/],
    ["has no license", { ...PACKAGE, license: undefined }, /^the package has no license$/],
    ["is CommonJS", { ...PACKAGE, type: undefined, files: ["*.js"] }, /would not be published/],
    ["does not publish its entry", { ...PACKAGE, files: ["lib"] }, /^\.\/plugin\.ts would not be published$/],
    ["names no files", { ...PACKAGE, files: undefined }, /^the package does not list its files$/],
    ["names no engine", { ...PACKAGE, engines: {} }, /^the required Node version is missing$/],
    ["lacks the SDK as a peer", { ...PACKAGE, peerDependencies: {} }, /^@svc\/sdk is not a peer dependency$/],
    ["brings its own SDK", { ...PACKAGE, dependencies: { "@svc/sdk": "1.0.0" } }, /install its own copy of the SDK$/],
    [
      "depends on the host",
      { ...PACKAGE, dependencies: { "@svc/host": "0.1.0" } },
      /^the package depends on the host$/,
    ],
    [
      "depends on the command",
      { ...PACKAGE, dependencies: { "@svc/cli": "0.1.0" } },
      /^the package depends on the host$/,
    ],
    [
      "has a path among its dependencies",
      { ...PACKAGE, dependencies: { a: "file:../a" } },
      /^the package depends on a by a path/,
    ],
    [
      "would publish a path of this machine",
      { ...PACKAGE, devDependencies: { "@svc/cli": "file:../../svc/host/cli", b: "link:../b", typescript: "7.0.2" } },
      /^devDependencies refer to @svc\/cli, b by a path of this machine, which would be published$/,
    ],
  ];
  const whyOf = (json: PackageJson, exists = true) =>
    packageProblems(json, manifest, () => exists).map((problem) => problem.why);
  for (const [what, json, why] of rows) it(`${what} (package.json)`, () => expectExactly(whyOf(json), [why]));

  it("lacks its entry", () => expectExactly(whyOf(PACKAGE, false), [/^\.\/plugin\.ts does not exist$/]));

  it("does not match its package.json", async (t) => {
    const directory = notes(t, {
      svc: {
        namespaces: ["other"],
        routes: ["/no/such"],
        contributes: { tool: ["none"] },
        isolation: { supports: ["worker"], default: "host" },
        commands: [{ name: "notes", summary: "-" }],
      },
      plugin: [
        ["config: Strict", 'section: "note",\n  config: Strict'],
        ['summary: "Greet somebody"', 'summary: ""'],
        [SETUP, `gateway.hooks.admit.tap(() => undefined);\n${SETUP}`],
      ],
      readme: "# notes",
    });
    // Faults that the gateway rejects prevent the start; the checks continue and report all of them.
    expectExactly(failures(await findings(directory, { reloads: 1 })), [
      /^commands: package\.json lists the command "notes" but has no svc\.cli$/,
      /^start: the plugin is failed: tap of admit is not listed under "svc\.gates"/,
      /^manifest: section note is not listed under "svc\.section"$/,
      /^manifest: method notes\.hello is not listed under "svc\.namespaces"$/,
      /^manifest: method notes\.count is not listed under "svc\.namespaces"$/,
      /^manifest: tap of admit is not listed under "svc\.gates"$/,
      /^contracts: notes\.hello has no summary$/,
      /^placement: svc\.isolation\.default is host, which svc\.isolation\.supports does not list$/,
      /^readme: README\.md does not mention the keys word$/,
      /^readme: README\.md does not mention the methods notes\.hello, notes\.count$/,
    ]);
  });

  it("leaves things behind", async (t) => {
    const leaks = `setInterval(() => {}, 1e6);
      kept.push(new Array(50_000).fill(count));
      gateway.start(() => void createServer().listen(0));
      gateway.start(() => void gateway.clock.setInterval(() => {}, 1e6));
      ${SETUP}`;
    const begin = 'import { createServer } from "node:net";\nconst kept: unknown[] = [];\nimport {';
    const directory = notes(t, {
      plugin: [
        ["import {", begin],
        [SETUP, leaks],
      ],
    });
    const { stdout } = await home(t).svc(["plugins", "check", directory, "--json"]); // in a separate process
    expectExactly(failures((JSON.parse(stdout) as { checks: Finding[] }).checks), [
      /^setup: setup opens Timeout$/,
      /^reload: reloads leave open resources behind: 20 TCPServerWrap$/,
      /^reload: 20 timers remain after 20 reloads$/,
      /^memory: each reload leaves \d+ KiB of heap behind$/,
    ]);
  });

  it("does not start, or cannot be imported", async (t) => {
    const start = `gateway.start(() => Promise.reject(new Error("no disk")));\n${SETUP}`;
    expectExactly(failures(await findings(notes(t, { plugin: [[SETUP, start]] }))), [
      /^start: the plugin is failed: start: no disk/,
    ]);
    const broken = notes(t, { plugin: [["export default", "const x = = 1;\nexport default"]] });
    expectExactly(failures(await findings(broken)), [/^start: the plugin cannot be imported: .*Unexpected token/]);
  });

  it("returns a result that does not match its schema", async (t) => {
    const directory = notes(t, { plugin: [["count: () => ({ greeted: count })", "count: () => ({ greeted: -1 })"]] });
    const samples = { "notes.count": [{}], "notes.none": [{}] };
    expectExactly(failures(await findings(directory, { samples, reloads: 1 })), [
      /^results: notes\.count with \{\} is refused: .*internal error/,
      /^results: there are samples for notes\.none/,
    ]);
  });

  it("imports an undeclared package", async (t) => {
    const directory = notes(t, { plugin: [["import {", 'import "left-pad";\nimport {']] });
    const problems = await importProblems(directory, PACKAGE);
    expectExactly(
      problems.map(({ why }) => why),
      [/^plugin\.ts imports left-pad, which package\.json does not declare$/],
    );
  });

  it("imports a package in its page that not even devDependencies declare", async (t) => {
    const directory = notes(t);
    mkdirSync(join(directory, "ui"));
    writeFileSync(join(directory, "ui/main.ts"), 'import "lit";\nimport "left-pad";\n');
    const problems = await importProblems(directory, { ...PACKAGE, devDependencies: { lit: "3.3.3" } });
    expectExactly(
      problems.map(({ why }) => why),
      [/^ui\/main\.ts imports left-pad, which package\.json does not declare$/],
    );
  });
});

describe("svc plugins check", { timeout: 120_000 }, () => {
  it("prints a line for each check, exits with 0, and reports the same as JSON", async (t) => {
    const { svc } = home(t);
    const directory = notes(t);
    const { code, stdout } = await svc(["plugins", "check", directory]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^ok {7}package\n(ok {7}\w+\n)+ready to be published \(0 warnings\)\n$/);
    const { ok, checks } = JSON.parse((await svc(["plugins", "check", directory, "--json"])).stdout);
    assert.deepEqual([ok, checks.length], [true, stdout.split("\nok ").length]);
  });

  it("exits with 1, the reason and the next step, and survives the plugin ending its process", async (t) => {
    const { svc } = home(t);
    const directory = notes(t, { plugin: [[SETUP, `gateway.start(() => process.exit(7));\n${SETUP}`]] });
    const { code, stdout } = await svc(["plugins", "check", directory]);
    assert.equal(code, 1);
    assert.match(stdout, /^ok {7}package$/m);
    assert.match(stdout, /^failed {3}process: the check process ended early with 7\n {9}Next: /m);
    assert.match((await svc(["plugins", "check", tmpdir()])).stderr, /there is no package\.json in .*\nNext: /);
  });

  it("runs the plugin with the given configuration", async (t) => {
    const { svc } = home(t);
    const directory = notes(t, { plugin: [['word: Type.String({ default: "Hello", ', "word: Type.String({ "]] });
    assert.match(
      (await svc(["plugins", "check", directory])).stdout,
      /^failed {3}start: the plugin is blocked: configuration: /m,
    );
    writeFileSync(join(directory, "try.json5"), "{ notes: { word: 'Hi' } }");
    const { code, stdout } = await svc(["plugins", "check", directory, "--config", join(directory, "try.json5")]);
    assert.equal(code, 0, stdout);
  });
});

describe("which packages a file imports", () => {
  it("are found in every form of import, except types and comments", async () => {
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
    assert.deepEqual((await importedPackages(text, "plugin.ts")).toSorted(), ["@scope/b", "a", "e", "g", "h"]);
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

describe("`svc plugins declare`", { timeout: 120_000 }, () => {
  const listsOf = (directory: string) =>
    (JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { svc: Record<string, unknown> }).svc;

  it("writes the lists of package.json from the code, preserves manual restrictions, and writes nothing the second time", async (t) => {
    const directory = notes(t, {
      svc: {
        cli: "./cli.ts",
        namespaces: ["other"],
        routes: ["/no/such"],
        commands: [
          { name: "notes", summary: "All of them", isGroup: true },
          { name: "notes gone", summary: "-" },
          { name: "notes list", summary: "old" },
        ],
        permissions: { net: ["*:*"] },
      },
      plugin: [
        ["config: Strict", 'section: "note",\n  config: Strict'],
        [SETUP, `gateway.hooks.admit.tap(() => undefined);\n${SETUP}`],
      ],
    });
    const verbs = ["list", "add"].map((name) => `{ name: "notes ${name}", summary: "New ${name}", run: () => 0 }`);
    writeFileSync(join(directory, "cli.ts"), `export default [${verbs.join(", ")}];\n`);
    const { svc } = home(t);
    const first = await svc(["plugins", "declare", directory]);
    assert.equal(first.code, 0, first.stderr);
    assert.match(
      first.stdout,
      /package\.json: wrote svc\.gates, svc\.namespaces, svc\.routes, svc\.section, svc\.commands$/m,
    );
    const { permissions, ...lists } = listsOf(directory);
    assert.deepEqual(permissions, { net: ["*:*"] });
    assert.deepEqual(lists, {
      id: "notes",
      api: "^1.0.0",
      entry: "./plugin.ts",
      cli: "./cli.ts",
      namespaces: ["notes"],
      section: "note",
      gates: ["admit"],
      commands: [
        { name: "notes", summary: "All of them", isGroup: true },
        { name: "notes list", summary: "New list" },
        { name: "notes add", summary: "New add" },
      ],
    });
    assert.match((await svc(["plugins", "declare", directory])).stdout, /package\.json: up to date$/m);
    const narrower = { ...listsOf(directory), namespaces: ["notes.count", "notes.hello"] };
    const text = JSON.stringify({ name: "notes", type: "module", svc: narrower });
    writeFileSync(join(directory, "package.json"), text);
    assert.match((await svc(["plugins", "declare", directory])).stdout, /up to date$/m, "narrower namespaces");
  });

  it("reports why a plugin cannot be set up and writes nothing", async (t) => {
    const directory = notes(t, { plugin: [[SETUP, `throw new Error("no luck");\n${SETUP}`]] });
    const before = readFileSync(join(directory, "package.json"), "utf8");
    const { code, stderr } = await home(t).svc(["plugins", "declare", directory]);
    assert.equal(code, 1);
    assert.match(stderr, /no luck[^]*Next: /);
    assert.equal(readFileSync(join(directory, "package.json"), "utf8"), before);
  });
});
