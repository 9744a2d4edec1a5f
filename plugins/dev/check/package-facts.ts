/** Whether package.json says all that people and the gateway need to know. Pure. */
import validVersion from "semver/functions/valid.js";
import type { Manifest } from "@svc/host/local";
import { failed, type Problem, unless, warning } from "./findings.ts";

/** The fields that are looked at. */
export interface PackageJson {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly description?: unknown;
  readonly license?: unknown;
  readonly type?: unknown;
  readonly files?: unknown;
  readonly engines?: { readonly node?: unknown };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/**
 * @param exists whether a path relative to the package is there
 * @param companions names of the packages that bring verbs of the host: they may depend on it
 */
export function packageProblems(
  json: PackageJson,
  manifest: Manifest,
  exists: (path: string) => boolean,
  companions: readonly unknown[] = [],
): Problem[] {
  const { name, version, description, license, type, files, engines } = json;
  const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
  const { dependencies = {}, peerDependencies = {} } = json;
  const host = ["@svc/host", "@svc/cli"].find((one) => one in { ...dependencies, ...peerDependencies });
  const shipped = [manifest.entry, manifest.cli, manifest.security].filter((path) => path !== undefined);
  return [
    ...unless(isText(name), failed("it has no name", 'add "name" to package.json')),
    ...unless(
      typeof version === "string" && validVersion(version) !== null,
      failed("it has no version", 'add "version", e.g. "0.1.0"'),
    ),
    ...unless(isText(license), failed("it has no license", 'add "license", e.g. "MIT"')),
    ...unless(
      isText(description),
      warning("it has no description", 'add "description": one line for people who look for it'),
    ),
    ...unless(
      type === "module" || shipped.every((path) => /\.[cm]?ts$|\.mjs$/.test(path)),
      failed("its code is no ES module", 'add "type": "module"'),
    ),
    ...unless(
      isText(engines?.node),
      failed("it does not say which Node it needs", 'add "engines": { "node": ">=20.19" }'),
    ),
    ...unless(
      "@svc/sdk" in peerDependencies,
      failed("@svc/sdk is no peer of it", 'add "peerDependencies": { "@svc/sdk": "^1.0.0" }'),
    ),
    ...unless(
      !("@svc/sdk" in dependencies),
      failed(
        "it would bring an SDK of its own",
        "move @svc/sdk from dependencies to peerDependencies and devDependencies",
      ),
    ),
    ...unless(
      companions.includes(name) || host === undefined,
      failed("it depends on the host", `take ${host} out of dependencies; what a plugin may use is in @svc/sdk`),
    ),
    ...pathProblems(json),
    ...shipped.flatMap((path) =>
      unless(exists(path), failed(`${path} is not there`, "build it, or correct its path in package.json under svc")),
    ),
    ...unless(Array.isArray(files), failed("it does not say which files it consists of", 'add "files", e.g. ["*.ts"]')),
    ...(Array.isArray(files) ? shipped : []).flatMap((path) =>
      unless(covers(files as readonly unknown[], path), failed(`${path} would not be published`, 'name it in "files"')),
    ),
  ];
}

/** Packages that are named by a path: `svc plugins new` does so in a checkout of the gateway. */
function pathProblems(json: PackageJson): Problem[] {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = json;
  const [needed, developed] = [
    { ...dependencies, ...peerDependencies, ...optionalDependencies },
    { ...devDependencies },
  ].map((listed) => Object.keys(listed).filter((name) => /^(?:file|link|portal|workspace):/.test(listed[name] ?? "")));
  return [
    ...(needed ?? []).map((name) =>
      failed(
        `it depends on ${name} by a path, which is nowhere but on this machine`,
        `write a published version of ${name}, or copy what you use of it; until then: svc plugins install <directory> --link`,
      ),
    ),
    ...unless(
      (developed ?? []).length === 0,
      warning(
        `devDependencies name ${(developed ?? []).join(", ")} by a path of this machine, and it would be published`,
        "before you publish, write versions there, or take them out: npm pkg delete devDependencies",
      ),
    ),
  ];
}

/** Whether the `files` of a package hold the path: as itself, by a directory above it, or by a pattern. */
export function covers(files: readonly unknown[], path: string): boolean {
  const plain = path.replace(/^\.\//, "");
  return files.some((entry) => {
    const pattern = String(entry)
      .replace(/^\.?\//, "")
      .replace(/\/$/, "");
    if (plain === pattern || plain.startsWith(`${pattern}/`)) return true;
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("**/", "\u0000")
      .replaceAll("*", "[^/]*")
      .replaceAll("\u0000", "(.*/)?");
    return new RegExp(`^${source}$`).test(plain);
  });
}
