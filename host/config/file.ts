/** Reads the configuration file. Never writes, never throws for what a person wrote: it says what is wrong. */
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
  /** Text as it stands, empty when there is no file. */
  readonly text: string;
  /** SHA-256 of the text, hex; includes and environment do not count. Empty when the file is there and cannot be read. */
  readonly hash: string;
  /** The object in the file; `{}` when there is none or it cannot be parsed. */
  readonly parsed: PlainObject;
  /** `parsed` with included files in place, variables not yet. */
  readonly expanded: PlainObject;
  /** `expanded` with `${NAME}` replaced from the environment; `{}` when an include failed. */
  readonly resolved: PlainObject;
  readonly issues: readonly Issue[];
  /** Every file it is made of, the main one first; included ones that could not be read are among them. */
  readonly files: readonly string[];
}

const EMPTY = { parsed: {}, expanded: {}, resolved: {} } as const;

/** An unreadable file is an issue. JSON5. @throws GatewayError `UNAVAILABLE` when the machine cannot read any file now */
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

/** What `text` means as the file at `path`. Reads the files it includes. */
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

/** The configuration a program gives to the gateway it embeds: taken as it is, no variables. */
export function givenConfig(path: string, config: PlainObject): ConfigFile {
  const as = { parsed: config, expanded: config, resolved: config };
  return { ...as, path, exists: false, text: "", hash: "", issues: [], files: [] };
}
