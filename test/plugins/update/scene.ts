/** A minimal version of the gateway, installed by git or npm into a temporary directory; git is real, npm is fake. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import { directory, put } from "../../directory.ts";
import { createUpdater, type UpdateOrder, type Updater, type UpdaterOptions } from "../../../plugins/update/updater.ts";

/** Prints its version, or that it is ready; a version with "broken" in it exits at its start. */
const SVC = `import { readFileSync } from "node:fs";
const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
if (process.argv[2] === "--version") console.log(version);
else if (version.includes("broken")) { console.error("no way"); process.exitCode = 1; }
else { console.log(JSON.stringify({ ready: true, version, plugins: [] })); setInterval(() => {}, 1000); }
`;

/** The host, and the command line next to it or in `cli`. */
export function putHost(path: string, version: string, cli = join(path, "../cli")): void {
  put(join(path, "package.json"), JSON.stringify({ name: "@svc/host", version, type: "module" }));
  put(join(cli, "package.json"), JSON.stringify({ name: "@svc/cli", version, type: "module" }));
  put(join(cli, "svc.js"), SVC);
}

/** Logs its arguments to \`npm.log\`; each command runs the given JavaScript with \`fs\`, \`join\` and \`args\`. */
export function fakeNpm(t: Pick<TestContext, "after">, verbs: Readonly<Record<string, string>>) {
  const bin = directory(t, "svc-npm-");
  const log = join(bin, "npm.log");
  const cases = Object.entries(verbs).map(([verb, code]) => `if (verb === ${JSON.stringify(verb)}) { ${code} }`);
  const script = `#!${process.execPath}
const fs = require("node:fs"); const { join } = require("node:path");
const args = process.argv.slice(2).filter((arg) => !/^--(no-|ignore-scripts|loglevel)/.test(arg)); const verb = args[0];
fs.appendFileSync(${JSON.stringify(log)}, process.argv.slice(2).join(" ") + "\\n");
const put = (dir, name, version) => { fs.mkdirSync(dir, { recursive: true }); fs.writeFileSync(join(dir, "package.json"), JSON.stringify({ name, version, type: "module" })); };
const host = (dir, version) => { put(dir, "@svc/host", version); put(join(dir, "../cli"), "@svc/cli", version); fs.writeFileSync(join(dir, "../cli/svc.js"), ${JSON.stringify(SVC)}); };
${cases.join("\n")}
`;
  put(join(bin, "npm"), script, 0o755);
  const path = [bin, process.env["PATH"] ?? ""].join(delimiter);
  return {
    places: { path, platform: process.platform },
    bin,
    /** Arguments npm was called with, without those it always gets. */
    asked: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
  };
}

export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8", stdio: "pipe" }).trim();
}

export const ORDER: UpdateOrder = { channel: "stable", timeoutMs: 60_000, dryRun: false };

/** Of `askNewest`, apart from the place and the channel. */
export const QUESTION = {
  version: "1.0.0",
  clock: { elapsed: () => 0 },
  env: process.env,
  signal: new AbortController().signal,
};

export function updaterOf(options: Partial<UpdaterOptions> & Pick<UpdaterOptions, "hostDirectory">): Updater {
  return createUpdater({
    version: "1.0.0",
    clock: { elapsed: () => performance.now() },
    env: process.env,
    signal: new AbortController().signal,
    plugins: () => [],
    ...options,
  });
}
