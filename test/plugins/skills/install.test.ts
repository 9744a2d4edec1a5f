/** Installers and skills from elsewhere: real programs, fake servers, hostile content. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { withDefaults } from "@svc/sdk";
import type { OutboundFetch } from "@svc/sdk/web";
import { SkillsConfig } from "../../../plugins/skills/config.ts";
import { installCommand } from "../../../plugins/skills/install/commands.ts";
import { createInstaller, type InstallerSources } from "../../../plugins/skills/install/installer.ts";
import { addSkill, type AddRequest } from "../../../plugins/skills/install/packages.ts";
import { toolPlaces } from "../../../plugins/skills/library/library.ts";
import type { InstallSpec } from "../../../plugins/skills/library/manifest.ts";
import { directory, put } from "../../directory.ts";
import { startRegistry } from "../../registry.ts";
import { zip } from "../../sdk/kit/archive/zip.ts";
import { text } from "./scene.ts";

const settings = (given: object = {}) => (withDefaults(SkillsConfig, { install: given }) as SkillsConfig).install;
const spec = (kind: InstallSpec["kind"], what: string, more: Partial<InstallSpec> = {}): InstallSpec => ({
  id: kind,
  kind,
  label: kind,
  bins: [],
  os: [],
  what,
  extract: false,
  ...more,
});
const never = new AbortController().signal;

/** The internet, as far as the test knows it. */
const serving = (pages: Readonly<Record<string, Uint8Array | string>>): OutboundFetch => ({
  async fetch({ url, maxBytes }) {
    const page = pages[url];
    const body = Buffer.from(page ?? "");
    assert.ok(body.length <= maxBytes);
    return { status: page === undefined ? 404 : 200, url, headers: {}, contentType: "x", charset: undefined, body };
  },
});

describe("the command of an installer", () => {
  const argvOf = (kind: InstallSpec["kind"], what: string, given: object = {}) => {
    const command = installCommand(spec(kind, what), "/home", settings(given));
    return "refusal" in command ? command.refusal : command.argv.slice(kind === "node" && !given ? 2 : 0).join(" ");
  };

  it("installs below the directory of the skill, without scripts", () => {
    assert.match(argvOf("node", "@acme/cli@1.2.3"), / install --prefix \/home --ignore-scripts .* @acme\/cli@1\.2\.3$/);
    assert.equal(argvOf("node", "cli", { nodeManager: "pnpm" }), "pnpm add --dir /home --ignore-scripts cli");
    assert.equal(argvOf("node", "cli", { nodeManager: "yarn" }), "yarn --cwd /home add --ignore-scripts cli");
    assert.equal(argvOf("node", "cli", { nodeManager: "bun" }), "bun add --cwd /home --ignore-scripts cli");
    assert.equal(argvOf("go", "example.com/cmd/tool"), "go install example.com/cmd/tool@latest");
    assert.equal(argvOf("uv", "tool==1.0"), "uv tool install --no-build tool==1.0");
  });

  it("is only printed for apt and brew, unless the operator allows them", () => {
    assert.match(
      argvOf("apt", "jq"),
      /run it yourself there: apt-get install --yes --no-install-recommends jq\nNext: /,
    );
    assert.match(argvOf("brew", "acme/tap/tool"), /brew install acme\/tap\/tool\nNext: .*allowSystem true/);
    assert.match(argvOf("apt", "jq", { allowSystem: true }), /^apt-get install --yes .* jq$/);
  });

  const hostile: readonly (readonly [InstallSpec["kind"], string])[] = [
    ["node", "--registry=http://evil.example"],
    ["node", "https://evil.example/x.tgz"],
    ["node", "git+ssh://evil.example/x"],
    ["node", "file:../x"],
    ["node", "../x"],
    ["node", "a b"],
    ["go", "-x"],
    ["go", "./local"],
    ["go", "example.com/../../x"],
    ["uv", "--index-url=x"],
    ["uv", "git+https://evil.example"],
    ["brew", "https://evil.example/x.rb"],
    ["brew", "--cask"],
    ["apt", "jq/../x"],
    ["apt", "./local.deb"],
  ];
  for (const [kind, what] of hostile)
    it(`never contains ${what} as a name of ${kind}`, () =>
      assert.match(argvOf(kind, what, { allowSystem: true }), /is not a name that/));
});

function openInstaller(t: TestContext, more: Partial<InstallerSources> = {}) {
  const base = directory(t, "svc-install-");
  const bin = join(base, "usr-bin");
  mkdirSync(bin);
  const tools = toolPlaces(() => base);
  const env = { PATH: `${bin}:/usr/bin:/bin`, HOME: base };
  const install = createInstaller({ tools, settings, outbound: () => undefined, env, signal: never, ...more });
  const run = (one: InstallSpec, timeoutMs = 60_000) =>
    install({ skillKey: "one", spec: one, timeoutMs, signal: never });
  return { base, bin, home: tools.home("one"), tools, run };
}

describe("an installer", { timeout: 120_000 }, () => {
  it("of node uses the registry of the user, runs no scripts, and writes to its own directory", async (t) => {
    const registry = await startRegistry(t);
    const source = directory(t);
    const scripts = { postinstall: "touch $HOME/script-ran" };
    put(
      join(source, "package.json"),
      JSON.stringify({ name: "acme-cli", version: "1.0.0", bin: { acme: "cli.js" }, scripts }),
    );
    put(join(source, "cli.js"), "#!/bin/sh\necho acme works\n", 0o755);
    await registry.publish(source);
    const { home, base, run, tools } = openInstaller(t, {
      env: { PATH: process.env["PATH"], HOME: directory(t), ...registry.env },
    });
    const done = await run(spec("node", "acme-cli", { bins: ["acme"] }));
    assert.deepEqual([done.ok, done.message, done.code, done.warnings], [true, "Installed", 0, undefined], done.stderr);
    assert.equal(execFileSync(join(home, "node_modules/.bin/acme"), { encoding: "utf8" }), "acme works\n");
    assert.equal(existsSync(join(base, "script-ran")), false);
    assert.ok(tools.path("one").includes(join(home, "node_modules", ".bin")));
    const failed = await run(spec("node", "no-such-package"));
    assert.equal(failed.ok, false);
    assert.match(failed.stderr, /404/);
  });

  it("of go or uv runs that program with its own directories, and fails without it", async (t) => {
    const { bin, home, run } = openInstaller(t);
    const missing = await run(spec("go", "example.com/x"));
    assert.deepEqual([missing.ok, missing.message.split(";")[0]], [false, "go is not installed"]);
    put(
      join(bin, "go"),
      '#!/bin/sh\necho "$@"; env | grep -c SECRET; mkdir -p "$GOBIN"; printf "#!/bin/sh\\n" > "$GOBIN/x"; chmod +x "$GOBIN/x"\n',
      0o755,
    );
    const done = await run(spec("go", "example.com/x", { bins: ["x", "y"] }));
    assert.deepEqual([done.ok, done.stdout], [true, "install example.com/x@latest\n0\n"]);
    assert.deepEqual(done.warnings, ["the installer brought no program y"]);
    put(join(bin, "uv"), '#!/bin/sh\necho "$UV_TOOL_DIR $UV_TOOL_BIN_DIR"; exit 3\n', 0o755);
    const failed = await run(spec("uv", "x"));
    assert.deepEqual([failed.ok, failed.code, failed.message], [false, 3, "uv ended with exit code 3; see stderr"]);
    assert.equal(failed.stdout, `${join(home, "uv")} ${join(home, "bin")}\n`);
  });

  it("ends at its deadline, and refuses a second installer of the same skill meanwhile", async (t) => {
    const { bin, run } = openInstaller(t);
    put(join(bin, "go"), "#!/bin/sh\nexec sleep 60\n", 0o755);
    const [late, second] = await Promise.all([run(spec("go", "example.com/x"), 300), run(spec("go", "example.com/x"))]);
    assert.match(late.message, /did not end within 300 ms/);
    assert.match(second.message, /already running/);
  });

  it("of apt creates no directory when it is refused", async (t) => {
    const { home, run } = openInstaller(t);
    assert.match((await run(spec("apt", "jq"))).message, /apt-get install/);
    assert.equal(existsSync(home), false);
  });

  it("downloads a program, or unpacks it from an archive", async (t) => {
    const archive = zip({ path: "tool-1.0/bin/tool", content: "#!/bin/sh\necho unpacked\n" });
    const outbound = serving({
      "https://x.example/one": "#!/bin/sh\necho plain\n",
      "https://x.example/t.zip": archive,
    });
    const { home, run } = openInstaller(t, { outbound: () => outbound });
    const plain = await run(spec("download", "https://x.example/one", { bins: ["one"] }));
    assert.deepEqual([plain.ok, plain.warnings], [true, undefined], plain.message);
    assert.equal(execFileSync(join(home, "bin/one"), { encoding: "utf8" }), "plain\n");
    const packed = spec("download", "https://x.example/t.zip", { id: "zip", bins: ["tool"], extract: true });
    for (let round = 0; round < 2; round += 1) assert.equal((await run(packed)).ok, true);
    assert.equal(execFileSync(join(home, "bin/tool"), { encoding: "utf8" }), "unpacked\n");
    assert.deepEqual(readdirSync(home).toSorted(), ["bin", "downloads"]);
  });

  it("refuses downloads that are not https, missing or hostile", async (t) => {
    const outbound = serving({ "https://x.example/evil.zip": zip({ path: "../evil", content: "x" }) });
    const { run, base } = openInstaller(t, { outbound: () => outbound });
    const messageOf = async (what: string) =>
      (await run(spec("download", what, { bins: ["x"], extract: true }))).message;
    assert.match(await messageOf("http://x.example/t.zip"), /not an https URL/);
    assert.match(await messageOf("file:///etc/passwd"), /not an https URL/);
    assert.match(await messageOf("https://x.example/none"), /status 404/);
    assert.match(await messageOf("https://x.example/evil.zip"), /invalid relative path/);
    assert.equal(existsSync(join(base, "evil")), false);
  });
});

describe("a skill from elsewhere", { timeout: 120_000 }, () => {
  function open(t: TestContext, pages: Parameters<typeof serving>[0] = {}, env: Readonly<Record<string, string>> = {}) {
    const base = directory(t, "svc-add-");
    const [managedDir, workDir] = [join(base, "skills"), join(base, "work")];
    mkdirSync(workDir);
    const sources = {
      managedDir,
      workDir,
      outbound: () => serving(pages),
      env: { PATH: process.env["PATH"], HOME: base, ...env },
    };
    const add = (request: AddRequest) => addSkill(request, sources, never);
    /** Inspects, then installs what was inspected. */
    const both = async (request: AddRequest) => add({ ...request, digest: (await add(request)).digest });
    return { base, managedDir, workDir, add, both };
  }

  it("in a folder is inspected first, and installed only if it is still the same", async (t) => {
    const { base, managedDir, workDir, add } = open(t);
    const source = join(base, "mine");
    put(join(source, "SKILL.md"), text("mine", "metadata:\n  x:\n    requires: {bins: [jq]}\n"));
    put(join(source, "go.sh"), "#!/bin/sh\n", 0o755);
    put(join(source, ".git/config"), "x");
    const about = await add({ source });
    assert.deepEqual(
      about.files.map(({ path, executable }) => [path, executable]),
      [
        ["SKILL.md", false],
        ["go.sh", true],
      ],
    );
    assert.deepEqual(
      [about.installed, about.replaces, about.requirements.bins, existsSync(managedDir)],
      [false, false, ["jq"], false],
    );
    const { digest } = about;
    writeFileSync(join(source, "go.sh"), "#!/bin/sh\nrm -rf /\n");
    await assert.rejects(add({ source, digest }), /has changed since it was inspected/);
    writeFileSync(join(source, "go.sh"), "#!/bin/sh\n");
    assert.equal((await add({ source, digest })).installed, true);
    assert.equal(readFileSync(join(managedDir, "mine/go.sh"), "utf8"), "#!/bin/sh\n");
    await assert.rejects(add({ source, digest }), { code: "CONFLICT" });
    assert.equal((await add({ source, digest, replace: true })).replaces, true);
    assert.deepEqual(readdirSync(workDir), []);
  });

  it("has its name as the name of its folder", async (t) => {
    const { base, managedDir, both } = open(t);
    const name = "Überblick für alle.v2";
    put(join(base, `${name}/SKILL.md`), text(name).replace(`name: ${name}\n`, ""));
    assert.equal((await both({ source: join(base, name) })).directory, join(managedDir, name));
    assert.deepEqual(readdirSync(managedDir), [name]);
  });

  it("is also installed from archives, https URLs and npm", async (t) => {
    const registry = await startRegistry(t);
    const source = directory(t);
    put(join(source, "package.json"), JSON.stringify({ name: "acme-skill", version: "1.0.0" }));
    put(join(source, "SKILL.md"), text("by-npm"));
    await registry.publish(source);
    const archive = zip({ path: "repo/skills/by-zip/SKILL.md", content: text("by-zip") });
    const pages = { "https://x.example/SKILL.md": text("by-text"), "https://x.example/a.zip": archive };
    const { base, managedDir, both } = open(t, pages, registry.env);
    writeFileSync(join(base, "local.skill"), zip({ path: "SKILL.md", content: text("by-file") }));
    for (const from of [
      "npm:acme-skill",
      "https://x.example/SKILL.md",
      "https://x.example/a.zip",
      join(base, "local.skill"),
    ])
      assert.equal((await both({ source: from })).installed, true);
    assert.deepEqual(readdirSync(managedDir).toSorted(), ["by-file", "by-npm", "by-text", "by-zip"]);
  });

  it("is refused if it is missing, ambiguous, hostile or unreachable", async (t) => {
    const { base, add, managedDir, workDir } = open(t, { "https://x.example/evil.zip": zip({ path: "a/../../evil" }) });
    const at = (name: string) => join(base, name);
    mkdirSync(at("empty"));
    put(at("bad/SKILL.md"), "no front matter");
    for (const name of ["one", "two"]) put(at(`several/${name}/SKILL.md`), text(name));
    put(at("linked/SKILL.md"), text("linked"));
    symlinkSync("/etc/passwd", at("linked/passwd"));
    put(at("escape/SKILL.md"), text("x").replace("name: x", 'name: "../../x"'));
    put(at("text.zip"), "text");
    writeFileSync(at("nameless.zip"), zip({ path: "SKILL.md", content: text("x").replace("name: x\n", "") }));
    put(at("long/SKILL.md"), text("\u{20000}".repeat(64)));
    const refused: readonly (readonly [source: string, why: RegExp])[] = [
      [at("empty"), /no folder with a SKILL\.md/],
      [at("bad"), /does not begin with front matter/],
      [at("several"), /has several skills; choose one with --skill: one, two/],
      [at("linked"), /is a link or a special file/],
      [at("escape"), /letters, digits/],
      [at("text.zip"), /not unpacked: it is neither/],
      [at("missing"), /does not exist/],
      ["relative/path", /neither an absolute path/],
      ["http://x.example/a.zip", /not an https URL/],
      ["file:///etc", /not an https URL/],
      ["https://x.example/none", /status 404/],
      ["https://x.example/evil.zip", /not unpacked/],
      ["npm:--registry=x", /not the name of an npm package/],
      ["npm:../x", /not the name of an npm package/],
      ["npm:-g", /not the name of an npm package/],
      [at("nameless.zip"), /letters, digits/],
      [at("long"), /letters, digits/],
    ];
    for (const [source, why] of refused) await assert.rejects(add({ source }), why, source);
    assert.equal((await add({ source: at("several"), name: "two" })).name, "two");
    assert.deepEqual(
      [readdirSync(workDir), existsSync(managedDir), existsSync(join(base, "evil"))],
      [[], false, false],
    );
  });
});
