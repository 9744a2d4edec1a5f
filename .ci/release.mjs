// `npm run release -- 0.2.0`: writes the version to every package of the gateway and the date to the changelog. It neither commits
// nor publishes; it prints the commands that do. The SDK has a version of its own, that of the plugin API: `--sdk 1.1.0`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import semver from "semver";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const USAGE = "npm run release -- <version> [--sdk <version>]";
const SDK = "@svc/sdk";

const { positionals, values } = parseArgs({ allowPositionals: true, options: { sdk: { type: "string" } } });
const [version] = positionals;
const root = read("package.json");
const files = git("ls-files", ...root.workspaces.map((pattern) => `:(glob)${pattern}/package.json`)).split("\n");
const packages = new Map(["package.json", ...files].map((file) => [file, read(file)]));
const sdk = [...packages.values()].find(({ name }) => name === SDK);

if (!semver.valid(version)) fail(`the version is ${version ?? "missing"}`, USAGE);
if (!semver.gte(version, root.version)) fail(`${version} is older than ${root.version}`, USAGE);
if (values.sdk !== undefined && !semver.gt(values.sdk, sdk.version))
  fail(`--sdk ${values.sdk} is not newer than ${sdk.version}`, USAGE);
if (git("status", "--porcelain") !== "") fail("the working tree has changes", "git status");

const heading = /^## (\S+) - unreleased$/m.exec(readFileSync("CHANGELOG.md", "utf8"));
if (!heading)
  fail("CHANGELOG.md has no section `## <version> - unreleased`", "write what this release changes, then again");

/** Packages that are released together. Examples are private, and keep their versions. */
const isReleased = ({ name, private: isPrivate, version: own }) =>
  name === root.name || (isPrivate !== true && own === root.version && name !== SDK);
const together = new Set([...packages.values()].filter(isReleased).map(({ name }) => name));
const DEPENDENCIES = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
const lock = read("package-lock.json");
lock.version = version;
for (const [file, json] of packages) {
  if (together.has(json.name)) json.version = version;
  if (json.name === SDK && values.sdk !== undefined) json.version = values.sdk;
  for (const group of DEPENDENCIES)
    for (const name of Object.keys(json[group] ?? {})) {
      if (together.has(name)) json[group][name] = `^${version}`;
      if (name === SDK && values.sdk !== undefined) json[group][name] = `^${values.sdk}`;
    }
  write(file, json);
  const locked = lock.packages[dirname(file) === "." ? "" : dirname(file)];
  if (!locked) fail(`package-lock.json does not know ${file}`, "npm install");
  for (const key of ["version", ...DEPENDENCIES]) if (key in locked) locked[key] = json[key];
}
write("package-lock.json", lock);
if (values.sdk !== undefined) replaceIn("sdk/plugin.ts", /(?<=API_VERSION = ")[^"]+/, values.sdk);
replaceIn("CHANGELOG.md", heading[0], `## ${version} - ${new Date().toISOString().slice(0, 10)}`);

process.stdout.write(
  [
    `${together.size} packages are ${version}${values.sdk === undefined ? "" : `, ${SDK} is ${values.sdk}`}.`,
    "Next:",
    "  .ci/run                                     # everything has to pass",
    `  git commit -am "release: ${version}" && git tag v${version}`,
    "  npm publish --workspaces --access public    # private packages are left out",
    `  # the first change after it begins a section: ## ${semver.inc(version, "patch")} - unreleased`,
    "",
  ].join("\n"),
);

function read(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function write(file, json) {
  writeFileSync(file, `${JSON.stringify(json, undefined, 2)}\n`);
}

function replaceIn(file, former, now) {
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(former, () => now),
  );
}

function git(...args) {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}

function fail(why, next) {
  process.stderr.write(`release: ${why}\nNext: ${next}\n`);
  process.exit(1);
}
