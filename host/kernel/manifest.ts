/** Manifest of a plugin or of a package of commands: the key `svc` of package.json. Read without running any code of the package. */
import { readFileSync } from "node:fs";
import { API_VERSION, describeViolations, matches, NonEmpty, SCOPES, type Static, Strict, Type } from "@svc/sdk";
import satisfies from "semver/functions/satisfies.js";
import ltr from "semver/ranges/ltr.js";
import validRange from "semver/ranges/valid.js";

export const PLUGIN_ID = /^[a-z][a-z0-9-]{1,63}$/;

/** Where a plugin's code can run: in the gateway's own thread, a worker thread, or a child process. */
export const PLACEMENTS = ["host", "worker", "process"] as const;
export type Placement = (typeof PLACEMENTS)[number];

/**
 * Permissions a plugin asks for. `calls` is enforced everywhere; `files`, `exec` and `env` only in the placement `process`; `net` nowhere,
 * since the runtime cannot restrict it: it is only shown at installation.
 */
export const Permissions = Strict({
  /** Scopes of the gateway methods it calls. */
  calls: Type.Optional(Type.Array(Type.Enum([...SCOPES]))),
  /** `<host>:<port>` it connects to; `*` matches any host or port. */
  net: Type.Optional(Type.Array(NonEmpty)),
  /** Files and directories in addition to its own package and its state directory: absolute, or below `~/`. */
  files: Type.Optional(
    Strict({ read: Type.Optional(Type.Array(NonEmpty)), write: Type.Optional(Type.Array(NonEmpty)) }),
  ),
  /** Whether it runs programs. */
  exec: Type.Optional(Type.Boolean()),
  /** Names of environment variables it reads. */
  env: Type.Optional(Type.Array(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }))),
});
export type Permissions = Static<typeof Permissions>;

/** Placements the plugin was tested in, and the one it prefers; a plugin without this key runs in the host. */
export const Isolation = Strict({
  supports: Type.Array(Type.Enum([...PLACEMENTS]), { minItems: 1, uniqueItems: true }),
  default: Type.Optional(Type.Enum([...PLACEMENTS])),
});

const CommandSummary = Strict({
  name: NonEmpty,
  summary: NonEmpty,
  /** The name is a prefix of several commands; the summary describes all of them. */
  isGroup: Type.Optional(Type.Boolean()),
  /** Its module prints lines when the gateway is up: `Command.announce`. */
  announces: Type.Optional(Type.Boolean()),
});

/** The key `svc` of package.json. */
export const ManifestFields = Strict({
  id: Type.String({ pattern: PLUGIN_ID.source }),
  /** Semver range of the plugin API. */
  api: NonEmpty,
  /** Path of the compiled entry, relative to package.json. Absent: the package has only commands, no plugin. */
  entry: Type.Optional(NonEmpty),
  /** First segments of the names of the methods it serves; a method outside of them is refused. */
  namespaces: Type.Optional(Type.Array(NonEmpty)),
  /** Key of its configuration section, the same as in its code. Default: the id. */
  section: Type.Optional(NonEmpty),
  /** Path prefixes it may mount routes under, in addition to `/plugins/<id>/`. */
  routes: Type.Optional(Type.Array(Type.String({ pattern: "^/" }))),
  /** Gate hooks it taps: `<hook>`, or `<hook>:<key>` for a keyed hook. They deny everything while the plugin is not running. */
  gates: Type.Optional(Type.Array(NonEmpty)),
  /** Ids it contributes, by extension point: used to name the missing plugin while it is not running. */
  contributes: Type.Optional(Type.Record(NonEmpty, Type.Array(NonEmpty))),
  /**
   * The bundled plugin that it can replace; ignored outside the bundle. It does so if the environment variable is set or `plugins.entries.<id>.enabled` is true; otherwise
   * the other one runs.
   */
  replaces: Type.Optional(
    Strict({
      plugin: Type.String({ pattern: PLUGIN_ID.source }),
      env: Type.String({ pattern: "^[A-Z_][A-Z0-9_]*$" }),
    }),
  ),
  permissions: Type.Optional(Permissions),
  isolation: Type.Optional(Isolation),
  /** Path of the file with its commands. `commands` lists them for the help text. */
  cli: Type.Optional(NonEmpty),
  commands: Type.Optional(Type.Array(CommandSummary)),
  /** Path of the file with its checks for `svc security audit`. */
  security: Type.Optional(NonEmpty),
});

/** A package with a plugin, commands of `svc`, or both. */
export interface PackageManifest extends Static<typeof ManifestFields> {
  readonly version: string;
  /** `description` of package.json. */
  readonly description?: string;
  /** Directory of package.json; empty for a plugin without one. */
  readonly directory: string;
}

/** A package with a plugin. */
export interface Manifest extends PackageManifest {
  readonly entry: string;
}

/** Why a package is not a usable plugin. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/**
 * Reads `<directory>/package.json`.
 * @returns `undefined` when it has no plugin. @throws ManifestError the key `svc` is invalid; Error the file cannot be read
 */
export function readManifest(directory: string): Manifest | undefined {
  return withPlugin(readPackageManifest(directory));
}

/** Like `readManifest`, also for packages with commands only. @returns `undefined` when there is no key `svc` */
export function readPackageManifest(directory: string): PackageManifest | undefined {
  const file = `${directory}/package.json`;
  return parsePackage(JSON.parse(readFileSync(file, "utf8")) as PackageJson, file, directory);
}

/**
 * Like `readManifest`, for a package.json that is already parsed.
 * @param shown name of the file in messages. @returns `undefined` when it has no plugin. @throws ManifestError the key `svc` is invalid
 */
export function parseManifest(json: PackageJson, shown: string, directory: string): Manifest | undefined {
  return withPlugin(parsePackage(json, shown, directory));
}

function withPlugin(found: PackageManifest | undefined): Manifest | undefined {
  return found?.entry === undefined ? undefined : { ...found, entry: found.entry };
}

interface PackageJson {
  readonly svc?: unknown;
  readonly version?: unknown;
  readonly description?: unknown;
}

function parsePackage(
  { svc, version, description }: PackageJson,
  shown: string,
  directory: string,
): PackageManifest | undefined {
  if (svc === undefined) return undefined;
  if (!hasApi(svc))
    throw new ManifestError(`${shown}, key "svc": "api" is missing; write a version range, e.g. "^${API_VERSION}"`);
  if (!matches(ManifestFields, svc))
    throw new ManifestError(`${shown}, key "svc": ${describeViolations(ManifestFields, svc)}`);
  if (svc.entry === undefined && svc.cli === undefined)
    throw new ManifestError(`${shown}, key "svc": it needs "entry" (a plugin) or "cli" (commands of svc)`);
  return {
    ...svc,
    version: typeof version === "string" ? version : "0.0.0",
    ...(typeof description === "string" ? { description } : {}),
    directory,
  };
}

/** Checked separately for a clear message: authors of a first plugin rarely know this key. */
function hasApi(svc: unknown): boolean {
  const { api } = (typeof svc === "object" && svc !== null ? svc : {}) as { api?: unknown };
  return typeof api === "string" && api !== "";
}

/** Why a plugin with this API range cannot run on this host, or `undefined`. Checked before its code is imported. */
export function apiMismatch(range: string): string | undefined {
  if (validRange(range) === null) return `its api "${range}" is not a version range; write e.g. "^${API_VERSION}"`;
  if (satisfies(API_VERSION, range)) return undefined;
  const needs = `it needs plugin API ${range}, this gateway has ${API_VERSION}`;
  if (ltr(API_VERSION, range)) return `${needs}; upgrade the gateway, or install an older version of the plugin`;
  return `${needs}; install a version of the plugin made for ${API_VERSION}`;
}
