/** The static part of a plugin or of a package of verbs: what package.json says under `svc`. Read without running its code. */
import { readFileSync } from "node:fs";
import { API_VERSION, describeViolations, matches, NonEmpty, SCOPES, type Static, Strict, Type } from "@svc/sdk";
import satisfies from "semver/functions/satisfies.js";
import ltr from "semver/ranges/ltr.js";
import validRange from "semver/ranges/valid.js";

export const PLUGIN_ID = /^[a-z][a-z0-9-]{1,63}$/;

/** Where a plugin's code can run. */
export const PLACEMENTS = ["host", "worker", "process"] as const;
export type Placement = (typeof PLACEMENTS)[number];

/**
 * What a plugin asks for. `calls` is enforced everywhere; `files`, `exec` and `env` in the placement `process`; `net` nowhere,
 * since the runtime cannot: it is told to whoever installs the plugin.
 */
export const Permissions = Strict({
  /** Scopes it calls methods of this gateway with. */
  calls: Type.Optional(Type.Array(Type.Enum([...SCOPES]))),
  /** `<host>:<port>` it connects to; `*` stands for any host or port. */
  net: Type.Optional(Type.Array(NonEmpty)),
  /** Files and directories beside its own package and its state directory: absolute, or below `~/`. */
  files: Type.Optional(
    Strict({ read: Type.Optional(Type.Array(NonEmpty)), write: Type.Optional(Type.Array(NonEmpty)) }),
  ),
  /** It runs programs. */
  exec: Type.Optional(Type.Boolean()),
  /** Names of environment variables it reads. */
  env: Type.Optional(Type.Array(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }))),
});
export type Permissions = Static<typeof Permissions>;

/** Placements it was tried in, and the one it prefers; a plugin that says nothing runs in the host. */
export const Isolation = Strict({
  supports: Type.Array(Type.Enum([...PLACEMENTS]), { minItems: 1, uniqueItems: true }),
  default: Type.Optional(Type.Enum([...PLACEMENTS])),
});

const CommandSummary = Strict({
  name: NonEmpty,
  summary: NonEmpty,
  /** No verb, but words that verbs begin with; the summary is about all of those. */
  isGroup: Type.Optional(Type.Boolean()),
});

/** `svc` in a package.json. */
export const ManifestFields = Strict({
  id: Type.String({ pattern: PLUGIN_ID.source }),
  /** Semver range of the plugin API. */
  api: NonEmpty,
  /** Path of the compiled entry, relative to package.json. Absent: the package has no plugin, only verbs. */
  entry: Type.Optional(NonEmpty),
  /** First words of the methods it serves; a method outside is refused. */
  namespaces: Type.Optional(Type.Array(NonEmpty)),
  /** Key of its configuration section, as in its code; default: the id. */
  section: Type.Optional(NonEmpty),
  /** Path prefixes it may mount routes under, beside `/plugins/<id>/`. */
  routes: Type.Optional(Type.Array(Type.String({ pattern: "^/" }))),
  /** Gate hooks it taps: `<hook>`, or `<hook>:<key>` of a keyed one. They stay shut while it is away. */
  gates: Type.Optional(Type.Array(NonEmpty)),
  /** Ids it contributes, by extension point: what is missing while it is away can then be named. */
  contributes: Type.Optional(Type.Record(NonEmpty, Type.Array(NonEmpty))),
  permissions: Type.Optional(Permissions),
  isolation: Type.Optional(Isolation),
  /** Path of the file with its verbs, and what help says of each. */
  cli: Type.Optional(NonEmpty),
  commands: Type.Optional(Type.Array(CommandSummary)),
  /** Path of the file with its security checks, for `svc security audit`. */
  security: Type.Optional(NonEmpty),
});

/** A package that brings a plugin, verbs of `svc`, or both. */
export interface PackageManifest extends Static<typeof ManifestFields> {
  readonly version: string;
  /** As npm has it. */
  readonly description?: string;
  /** Directory of package.json; empty for a plugin that has none. */
  readonly directory: string;
}

/** A package with a plugin in it. */
export interface Manifest extends PackageManifest {
  readonly entry: string;
}

/** Why a package is not a usable plugin. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/**
 * Reads `<directory>/package.json`.
 * @returns `undefined` when it names no plugin. @throws ManifestError when its key `svc` is wrong; Error when the file cannot be read
 */
export function readManifest(directory: string): Manifest | undefined {
  return withPlugin(readPackageManifest(directory));
}

/** The same of a package that may have verbs and no plugin. @returns `undefined` when it has no `svc` key */
export function readPackageManifest(directory: string): PackageManifest | undefined {
  const file = `${directory}/package.json`;
  return parsePackage(JSON.parse(readFileSync(file, "utf8")) as PackageJson, file, directory);
}

/**
 * `readManifest` of a package.json that was read already.
 * @param shown what people call the file. @returns `undefined` when it names no plugin. @throws ManifestError
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

/** Said apart from all else: nobody who begins a plugin knows this key. */
function hasApi(svc: unknown): boolean {
  const { api } = (typeof svc === "object" && svc !== null ? svc : {}) as { api?: unknown };
  return typeof api === "string" && api !== "";
}

/** Why the plugin cannot run on this host, or `undefined` when it can. Decided before its code is imported. */
export function apiMismatch(range: string): string | undefined {
  if (validRange(range) === null) return `its api "${range}" is not a version range; write e.g. "^${API_VERSION}"`;
  if (satisfies(API_VERSION, range)) return undefined;
  const needs = `it needs plugin API ${range}, this gateway has ${API_VERSION}`;
  if (ltr(API_VERSION, range)) return `${needs}; upgrade the gateway, or install an older version of the plugin`;
  return `${needs}; install a version of the plugin made for ${API_VERSION}`;
}
