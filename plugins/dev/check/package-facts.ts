/** Checks that package.json has all facts that people and the gateway need. Pure. */
import validVersion from "semver/functions/valid.js";
import type { Manifest } from "@svc/host/local";
import { failed, type Problem, unless, warning } from "./findings.ts";

/** The checked fields. */
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
 * @param exists whether a path relative to the package exists
 * @param companions names of packages with verbs of the host; these packages may depend on the host
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
    ...unless(isText(name), failed("the package has no name", 'add "name" to package.json')),
    ...unless(
      typeof version === "string" && validVersion(version) !== null,
      failed("the package has no valid version", 'add "version", e.g. "0.1.0"'),
    ),
    ...unless(isText(license), failed("the package has no license", 'add "license", e.g. "MIT"')),
    ...unless(
      isText(description),
      warning("the package has no description", 'add "description": one line for people who search for it'),
    ),
    ...unless(
      type === "module" || shipped.every((path) => /\.[cm]?ts$|\.mjs$/.test(path)),
      failed("the code is not an ES module", 'add "type": "module"'),
    ),
    ...unless(
      isText(engines?.node),
      failed("the required Node version is missing", 'add "engines": { "node": ">=20.19" }'),
    ),
    ...unless(
      "@svc/sdk" in peerDependencies,
      failed("@svc/sdk is not a peer dependency", 'add "peerDependencies": { "@svc/sdk": "^1.0.0" }'),
    ),
    ...unless(
      !("@svc/sdk" in dependencies),
      failed(
        "the package would install its own copy of the SDK",
        "move @svc/sdk from dependencies to peerDependencies and devDependencies",
      ),
    ),
    ...unless(
      companions.includes(name) || host === undefined,
      failed("the package depends on the host", `remove ${host} from dependencies; plugins may only use @svc/sdk`),
    ),
    ...pathProblems(json),
    ...shipped.flatMap((path) =>
      unless(exists(path), failed(`${path} does not exist`, "build the plugin, or correct the path in package.json")),
    ),
    ...unless(Array.isArray(files), failed("the package does not list its files", 'add "files", e.g. ["*.ts"]')),
    ...(Array.isArray(files) ? shipped : []).flatMap((path) =>
      unless(
        covers(files as readonly unknown[], path),
        failed(`${path} would not be published`, 'add the path to "files"'),
      ),
    ),
  ];
}

/** Dependencies given by a path: `svc plugins new` writes such dependencies in a checkout of the gateway. */
function pathProblems(json: PackageJson): Problem[] {
  const { dependencies, peerDependencies, optionalDependencies, devDependencies } = json;
  const [needed, developed] = [
    { ...dependencies, ...peerDependencies, ...optionalDependencies },
    { ...devDependencies },
  ].map((listed) => Object.keys(listed).filter((name) => /^(?:file|link|portal|workspace):/.test(listed[name] ?? "")));
  return [
    ...(needed ?? []).map((name) =>
      failed(
        `the package depends on ${name} by a path, which exists only on this machine`,
        `use a published version of ${name}, or copy the code you need; until then: svc plugins install <directory> --link`,
      ),
    ),
    ...unless(
      (developed ?? []).length === 0,
      warning(
        `devDependencies refer to ${(developed ?? []).join(", ")} by a path of this machine, which would be published`,
        "before publishing, replace the paths with versions, or remove them: npm pkg delete devDependencies",
      ),
    ),
  ];
}

/** Whether the `files` of a package include the path: literally, by a parent directory, or by a pattern. */
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
