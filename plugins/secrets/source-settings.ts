/** Settings in `secrets.providers` for the sources of this plugin. Spec: http/config.md §6. Pure. */
import { isAbsolute } from "node:path";
import { type Static, Strict, type TSchema, Type, violations, withDefaults } from "@svc/sdk";
import type { SecretProvider } from "@svc/sdk/secrets";

/** Pattern of environment variable names. Spec. */
export const VARIABLE = "^[A-Z][A-Z0-9_]{0,127}$";

const MAX_TIMEOUT_MS = 120_000;
const MAX_BYTES = 20_971_520;
const DEFAULT_BYTES = 1_048_576;

const upTo = (maximum: number, options: object = {}) => Type.Integer({ minimum: 1, maximum, ...options });
const variables = (maxItems: number) => Type.Array(Type.String({ pattern: VARIABLE }), { maxItems });
const Flag = (fallback: boolean) => Type.Boolean({ default: fallback });

/** `env` */
export const EnvSettings = Strict({ allowlist: Type.Optional(variables(256)) });

/** `file` */
export const FileSettings = Strict({
  path: Type.String({ minLength: 1 }),
  mode: Type.Enum(["json", "singleValue"], { default: "json" }),
  timeoutMs: upTo(MAX_TIMEOUT_MS, { default: 5_000 }),
  maxBytes: upTo(MAX_BYTES, { default: DEFAULT_BYTES }),
});

/** `exec` */
export const ExecSettings = Strict({
  command: Type.String({ minLength: 1 }),
  args: Type.Array(Type.String({ maxLength: 1_024 }), { maxItems: 128, default: [] }),
  timeoutMs: upTo(MAX_TIMEOUT_MS, { default: 5_000 }),
  noOutputTimeoutMs: Type.Optional(upTo(MAX_TIMEOUT_MS)),
  maxOutputBytes: upTo(MAX_BYTES, { default: DEFAULT_BYTES }),
  jsonOnly: Flag(true),
  env: Type.Record(Type.String(), Type.String(), { default: {} }),
  passEnv: Type.Array(Type.String({ pattern: VARIABLE }), { maxItems: 128, default: [] }),
  trustedDirs: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 64 })),
  allowInsecurePath: Flag(false),
  allowSymlinkCommand: Flag(false),
});

export type ExecSettings = Static<typeof ExecSettings>;

/** The settings with defaults; `problemOf` must have accepted them. */
export function settingsOf<S extends TSchema>(schema: S, { settings }: SecretProvider): Static<S> {
  return withDefaults(schema, settings);
}

/** By source. */
const SCHEMAS: Readonly<Record<string, TSchema>> = { env: EnvSettings, file: FileSettings, exec: ExecSettings };

/** The first problem of a provider, with its path; `undefined` for a valid one. Values are never quoted. */
export function problemOf(schema: TSchema, { name, settings }: SecretProvider): string | undefined {
  const wrong = firstProblem(schema, settings);
  return wrong && `secrets.providers.${name}${wrong.key === "" ? "" : `.${wrong.key}`}: ${wrong.message}`;
}

/** The same without the provider's name. Entries for sources of other plugins are not checked. */
export function entryProblem(entry: Readonly<Record<string, unknown>>): string | undefined {
  const { source, ...settings } = entry;
  const schema = typeof source === "string" && Object.hasOwn(SCHEMAS, source) ? SCHEMAS[source] : undefined;
  const wrong = schema && firstProblem(schema, settings);
  return wrong && (wrong.key === "" ? wrong.message : `${wrong.key} ${wrong.message}`);
}

interface Problem {
  /** Dotted path below the entry; empty for the entry itself. */
  readonly key: string;
  readonly message: string;
}

function firstProblem(schema: TSchema, settings: Readonly<Record<string, unknown>>): Problem | undefined {
  const [first] = violations(schema, withDefaults(schema, settings));
  if (first) {
    const key = first.path.slice(1).replace(/\/(\d+)(?=\/|$)/g, "[$1]");
    return { key: key.replaceAll("/", "."), message: first.message };
  }
  for (const key of ["path", "command"]) {
    const path = settings[key];
    const message = typeof path === "string" ? pathProblem(path) : undefined;
    if (message !== undefined) return { key, message };
  }
  const { trustedDirs } = settings;
  const outside = Array.isArray(trustedDirs) ? trustedDirs.findIndex((dir) => !isAbsolute(String(dir))) : -1;
  return outside < 0 ? undefined : { key: `trustedDirs[${outside}]`, message: "must be an absolute path" };
}

function pathProblem(path: string): string | undefined {
  if (path.includes("\0")) return "must not contain a NUL character";
  return isAbsolute(path) ? undefined : "must be an absolute path, starting with /";
}
