/** Reads the configuration file. Never writes. Reports errors in the file as issues instead of throwing. */
import { isGatewayError } from "@svc/sdk/errors";
import { type Issue, substitute } from "./environment.ts";
import { expandIncludes } from "./include.ts";
import { MAX_CONFIG_BYTES, parseConfig, sha256 } from "./parse.ts";
import type { Environment } from "./paths.ts";
import { isObject, type PlainObject } from "./plain-data.ts";
import { decodeUtf8, readRegularFile } from "./read-bytes.ts";

export type { Issue } from "./environment.ts";

export interface ConfigFile {
  readonly path: string;
  readonly exists: boolean;
  /** Text of the file; empty if the file does not exist. */
  readonly text: string;
  /** SHA-256 of the text in hex, without includes and environment. Empty if the file exists but cannot be read. */
  readonly hash: string;
  /** The object in the file; `{}` if the file does not exist or cannot be parsed. */
  readonly parsed: PlainObject;
  /** `parsed` with included files merged, but variables not replaced. */
  readonly expanded: PlainObject;
  /** `expanded` with `${NAME}` replaced from the environment; `{}` if an include failed. */
  readonly resolved: PlainObject;
  readonly issues: readonly Issue[];
  /** The main file, then the included ones, also those that could not be read. */
  readonly files: readonly string[];
}

const EMPTY = { parsed: {}, expanded: {}, resolved: {} } as const;

/** Reads JSON5; an unreadable file becomes an issue. @throws GatewayError `UNAVAILABLE` when the machine cannot read any file now */
export async function readConfigFile(path: string, env: Environment): Promise<ConfigFile> {
  let text: string;
  try {
    text = decodeUtf8((await readRegularFile(path)).bytes);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return missingFile(path);
    const why = code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : message;
    const issues = [{ path: "", message: `cannot read ${path}: ${why}` }];
    return { ...EMPTY, path, exists: true, text: "", hash: "", issues, files: [path] };
  }
  return interpretConfig(path, text, env);
}

/** Interprets `text` as the file at `path`. Reads the files it includes. */
export async function interpretConfig(path: string, text: string, env: Environment): Promise<ConfigFile> {
  const base = { ...EMPTY, path, exists: true, text, hash: sha256(text) };
  const broken = (message: string) => ({ ...base, issues: [{ path: "", message }], files: [path] });
  if (Buffer.byteLength(text) > MAX_CONFIG_BYTES) return broken("the configuration is larger than 2 MiB");
  const main = await parseConfig(text);
  if ("message" in main) return broken(main.message);

  const expanded = await expandIncludes(main.value, path);
  const files = [path, ...expanded.files];
  if ("message" in expanded) return { ...broken(expanded.message), parsed: main.value, files };
  if (!isObject(expanded.value))
    return { ...broken("the included file must hold one object"), parsed: main.value, files };
  const issues: Issue[] = [];
  const resolved = substitute(expanded.value, env, issues) as PlainObject; // an object stays one
  return { ...base, parsed: main.value, expanded: expanded.value, resolved, issues, files };
}

function missingFile(path: string): ConfigFile {
  return { ...EMPTY, path, exists: false, text: "", hash: sha256(""), issues: [], files: [path] };
}

/** The configuration that a program passes to its embedded gateway, used without variable substitution. */
export function givenConfig(path: string, config: PlainObject): ConfigFile {
  const as = { parsed: config, expanded: config, resolved: config };
  return { ...as, path, exists: false, text: "", hash: "", issues: [], files: [] };
}
