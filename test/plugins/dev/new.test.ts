// long: installs and tests new plugins
/** `svc plugins new`: the created package is typed, passes its own test and is ready to be published; existing files stay unchanged. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { checkPlugin } from "../../../plugins/dev/check/check-task.ts";
import type { Finding } from "../../../plugins/dev/check/findings.ts";
import { writeWhole } from "../../../plugins/dev/new/new.ts";
import { KINDS } from "../../../plugins/dev/new/kinds.ts";
import { packageFiles, TOOLCHAIN } from "../../../plugins/dev/new/package-files.ts";
import { root } from "../../checkout.ts";
import { home } from "../../host/cli/svc.ts";

const run = promisify(execFile);

function temporary(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "svc-new-")));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

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
      const { scripts, svc } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
        scripts: { test: string };
        svc?: object;
      };
      assert.match(await inPackage(directory, scripts.test.replace(/^node /, "").split(" ")), /# pass [1-9]/);
      if (!svc) continue;
      const found: Finding[] = [];
      await checkPlugin({ directory, config: {}, samples: {}, reloads: 1 }, (finding) => found.push(finding));
      // In a checkout, packages are given by path, which `check` reports.
      const { dependencies = {} } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
        dependencies?: Record<string, string>;
      };
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
    assert.deepEqual(files, [
      ".gitignore",
      "README.md",
      "package.json",
      "plugin.ts",
      "test/plugin.test.ts",
      "tsconfig.json",
    ]);
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

  const refused: [why: string, args: string[], exitCode: number, message: RegExp][] = [
    ["a name in capitals", ["Notes"], 2, /"Notes" is not a valid name: use 2 to 64 lower-case letters/],
    ["a name with a path in it", ["../notes"], 2, /is not a valid name/],
    ["a name that is too short", ["n"], 2, /is not a valid name/],
    ["the name of a section of the gateway", ["gateway"], 2, /is a section of the gateway's own configuration/],
    ["the name of a bundled plugin", ["sessions"], 2, /is a plugin that comes with the gateway/],
    ["two kinds at once", ["notes", "--tool", "--channel"], 2, /--channel and --tool: choose one of them/],
    [
      "a missing parent",
      ["notes", "--dir", "/no/such/place"],
      1,
      /there is no directory \/no\/such\/place\nNext: mkdir -p/,
    ],
  ];
  for (const [why, args, exitCode, message] of refused)
    it(`refuses ${why}`, async (t) => {
      const parent = temporary(t);
      const { code, stderr } = await home(t).svc([
        "plugins",
        "new",
        ...args,
        ...(args.includes("--dir") ? [] : ["--dir", parent]),
      ]);
      assert.equal(code, exitCode, stderr);
      assert.match(stderr, message);
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
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
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
    const linked = JSON.parse(readFileSync(join(parent, "notes/package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    for (const name of Object.keys(own)) {
      const place = (linked.devDependencies[name] ?? "").replace("file:", "");
      const { name: found } = JSON.parse(readFileSync(join(parent, "notes", place, "package.json"), "utf8"));
      assert.equal(found, name);
    }
  });
});
