// long: installs and tests new plugins
/** `svc plugins new`: the created package is typed, passes its own test and is ready to be published; existing files stay unchanged. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { checkPlugin } from "../../../plugins/dev/check/check-task.ts";
import type { Finding } from "../../../plugins/dev/check/findings.ts";
import { writeWhole } from "../../../plugins/dev/new/new.ts";
import { KINDS } from "../../../plugins/dev/new/kinds.ts";
import { packageFiles, TOOLCHAIN } from "../../../plugins/dev/new/package-files.ts";
import { root } from "../../checkout.ts";
import { directory as temporary } from "../../directory.ts";
import { home } from "../../host/cli/svc.ts";

const run = promisify(execFile);

/** Runs like `npm test` and `npx tsc`, with the packages of the checkout instead of installed ones. */
async function inPackage(directory: string, args: readonly string[]): Promise<string> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|NODE_OPTIONS|SVC_)/.test(name)),
  );
  try {
    return (await run(process.execPath, [...args], { cwd: directory, env: { ...env, JITI_FS_CACHE: "false" } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return assert.fail(`${args.join(" ")}:\n${stdout}${stderr}`);
  }
}

/** Texts of all files, by path. */
function texts(directory: string): Record<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "utf8")]),
  );
}

interface Package {
  readonly scripts: { readonly test: string };
  readonly svc?: object;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const packageOf = (directory: string) => JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Package;

describe("svc plugins new", { timeout: 120_000 }, () => {
  it("creates every kind so that types check, tests pass and it is ready to be published", async (t) => {
    const parent = temporary(t);
    const { svc } = home(t);
    symlinkSync(join(root, "node_modules"), join(parent, "node_modules")); // in place of npm install
    for (const kind of KINDS) {
      const { code, stdout, stderr } = await svc(["plugins", "new", `my-${kind}2`, `--${kind}`, "--dir", parent]);
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(
        stdout,
        /^created .*: \.gitignore, README\.md, .*package\.json.*\nNext:\n {2}cd .*\n {2}npm install\n {2}npm test/,
      );
      for (const [file, text] of Object.entries(texts(join(parent, `my-${kind}2`))))
        assert.doesNotMatch(file + text, /sample.?name/i, "no name of the template is left over");
    }
    const packages = KINDS.map((kind) => join(parent, `my-${kind}2`));
    assert.deepEqual(
      readdirSync(parent).toSorted(),
      ["node_modules", ...packages.map((path) => basename(path))].toSorted(),
    );

    // One run for all, with the settings they share.
    const settings = { extends: "./my-namespace2/tsconfig.json", include: ["*/*.ts", "*/test/*.ts"] };
    writeFileSync(join(parent, "tsconfig.json"), JSON.stringify(settings));
    assert.equal(await inPackage(parent, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit"]), "");
    for (const directory of packages) {
      const { scripts, svc, dependencies = {} } = packageOf(directory);
      assert.match(await inPackage(directory, scripts.test.replace(/^node /, "").split(" ")), /# pass [1-9]/);
      if (!svc) continue;
      const found: Finding[] = [];
      await checkPlugin({ directory, config: {}, samples: {}, reloads: 1 }, (finding) => found.push(finding));
      // In a checkout, packages are given by path, which `check` reports.
      assert.deepEqual(
        found.flatMap(({ check, problems }) =>
          problems.map(({ why }) => `${check}: ${why.replace(/ by a path.*/, "")}`),
        ),
        [
          ...Object.keys(dependencies).map((name) => `package: the package depends on ${name}`),
          "package: devDependencies refer to @svc/cli, @svc/host, @svc/plugin-dev, @svc/sdk",
        ],
      );
      assert.ok(found.length > 8);
    }
  });

  it("creates a namespace by default, and reports it as JSON", async (t) => {
    const parent = temporary(t);
    const { stdout } = await home(t).svc(["plugins", "new", "notes", "--dir", parent, "--json"]);
    const { kind, directory, files } = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual([kind, directory], ["namespace", join(parent, "notes")]);
    const sources = ["plugin.ts", "test/plugin.test.ts", "tsconfig.json"];
    assert.deepEqual(files, [".gitignore", "README.md", "package.json", ...sources]);
  });

  it("leaves existing files alone", async (t) => {
    const parent = temporary(t);
    mkdirSync(join(parent, "notes"));
    writeFileSync(join(parent, "notes/plugin.ts"), "mine");
    const { code, stderr } = await home(t).svc(["plugins", "new", "notes", "--dir", parent]);
    assert.equal(code, 1);
    assert.match(stderr, /notes already exists; nothing was changed\nNext: /);
    assert.deepEqual(texts(parent), { [join(parent, "notes/plugin.ts")]: "mine" });
  });

  it("refuses a name or a place that is not possible, and creates nothing", async (t) => {
    const parent = temporary(t);
    const { svc } = home(t);
    const refused: [args: string[], exitCode: number, message: RegExp][] = [
      [["Notes"], 2, /"Notes" is not a valid name: use 2 to 64 lower-case letters/],
      [["../notes"], 2, /is not a valid name/],
      [["n"], 2, /is not a valid name/],
      [["gateway"], 2, /is a section of the gateway's own configuration/],
      [["sessions"], 2, /is a plugin that comes with the gateway/],
      [["notes", "--tool", "--channel"], 2, /--channel and --tool: choose one of them/],
    ];
    for (const [args, exitCode, message] of refused) {
      const { code, stderr } = await svc(["plugins", "new", ...args, "--dir", parent]);
      assert.equal(code, exitCode, stderr);
      assert.match(stderr, message);
    }
    const nowhere = await svc(["plugins", "new", "notes", "--dir", join(parent, "none")]);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /there is no directory \S+none\nNext: mkdir -p/);
    assert.deepEqual(readdirSync(parent), []);
  });

  it("leaves nothing behind if it cannot write", (t) => {
    const parent = temporary(t);
    const files = { "plugin.ts": "1", "test/\0.ts": "no file system has such names" };
    assert.throws(() => writeWhole(join(parent, "notes"), files));
    assert.deepEqual(readdirSync(parent), []);
  });
});

describe("the package of a new plugin", () => {
  it("uses the toolchain this release was tested with", () => {
    const { devDependencies } = packageOf(root);
    for (const [name, version] of Object.entries(TOOLCHAIN)) assert.equal(version, devDependencies[name], name);
  });

  it("uses exact versions outside of a checkout, and links within one", async (t) => {
    const release = { sdk: "1.0.0", kit: "0.1.0", cli: "0.1.1", host: "0.1.0", dev: "0.1.2", jiti: "2.7.0" };
    const text = packageFiles("namespace", "notes", release)["package.json"] ?? "";
    const { devDependencies, peerDependencies } = JSON.parse(text) as Record<string, Record<string, string>>;
    const own = { "@svc/cli": "0.1.1", "@svc/host": "0.1.0", "@svc/plugin-dev": "0.1.2", "@svc/sdk": "1.0.0" };
    assert.deepEqual(devDependencies, { ...own, ...TOOLCHAIN, jiti: "2.7.0" });
    assert.deepEqual(peerDependencies, { "@svc/sdk": "^1.0.0" });
    const provider = packageFiles("provider", "notes", release)["package.json"] ?? "";
    assert.deepEqual((JSON.parse(provider) as { dependencies: object }).dependencies, { "@svc/kit": "0.1.0" });
    const versions = ["sdk/kit", "host"].map(
      (name) => (JSON.parse(readFileSync(join(root, name, "package.json"), "utf8")) as { version: string }).version,
    );
    assert.equal(versions[0], versions[1], "the kit is released together with the host");

    const parent = temporary(t);
    await home(t).svc(["plugins", "new", "notes", "--dir", parent]);
    const linked = packageOf(join(parent, "notes"));
    for (const name of Object.keys(own)) {
      const place = (linked.devDependencies[name] ?? "").replace("file:", "");
      const { name: found } = JSON.parse(readFileSync(join(parent, "notes", place, "package.json"), "utf8"));
      assert.equal(found, name);
    }
  });
});
