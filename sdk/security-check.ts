/** Security checks of a plugin: `svc security audit` imports the file that package.json names under `svc.security`. */
import { isLoopbackHost } from "./client/address.ts";
import type { GatewayClient } from "./client/index.ts";
import { commandText } from "./command-text.ts";

/** `critical`: somebody can take over the gateway or read its secrets. `warning`: one further mistake away from that. `info`: worth knowing. */
export type SecuritySeverity = "critical" | "warning" | "info";

/** What a check reads. */
export interface SecurityView {
  /** The configuration with includes and variables in place. A value may have any shape: the file need not be valid. */
  readonly config: Readonly<Record<string, unknown>>;
  /** State directory of this machine; it need not exist. */
  readonly stateDir: string;
  /** epoch ms */
  readonly now: number;
}

/** One place where a check found what it looks for. */
export interface SecurityHit {
  /** A key, a file, a device. */
  readonly about: string;
  /** What is so, in one sentence. Never a secret. */
  readonly message: string;
  /** The command line that mends it. */
  readonly mend: string;
  /** Default: that of the check. */
  readonly severity?: SecuritySeverity;
}

interface CheckFacts {
  /** `<id of the plugin>.<name>`; stays the same from version to version. */
  readonly id: string;
  readonly severity: SecuritySeverity;
  /** Why it matters, in one sentence. */
  readonly why: string;
}

/** A check of configuration and files. It needs no running gateway. */
export interface SecurityFileCheck extends CheckFacts {
  find(view: SecurityView): readonly SecurityHit[] | Promise<readonly SecurityHit[]>;
}

/** A check of what only the running gateway knows. The audit says that it was not made where none answers. */
export interface SecurityGatewayCheck extends CheckFacts {
  /** @param client with the scopes `operator.admin` and `operator.pairing` */
  ask(client: GatewayClient, view: SecurityView): Promise<readonly SecurityHit[]>;
}

/** One check. Throwing is no finding: the audit says that the check was not made. */
export type SecurityCheck = SecurityFileCheck | SecurityGatewayCheck;

/** Declares the checks of a plugin; the default export of its `svc.security` file. */
export function defineSecurityChecks(checks: readonly SecurityCheck[]): readonly SecurityCheck[] {
  return checks;
}

/** The own value at a dotted path of a configuration of any shape, or `undefined`. */
export function configAt(config: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((node, key) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return undefined;
    return (node as Readonly<Record<string, unknown>>)[key];
  }, config);
}

/** The members of an object or list that are objects themselves, by key. Anything else has none. */
export function entriesOf(
  value: unknown,
): readonly (readonly [key: string, entry: Readonly<Record<string, unknown>>])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    typeof entry === "object" && entry !== null ? [[key, entry as Readonly<Record<string, unknown>>] as const] : [],
  );
}

/** The texts of a list of any shape, trimmed. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.flatMap((item) => (typeof item === "string" ? [item.trim()] : [])) : [];
}

/** Whether a value is an address that is reached over a network without TLS: `http:` or `ws:`, and not on this machine. */
export function isClearAddress(value: unknown): value is string {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return ["http:", "ws:"].includes(protocol) && !isLoopbackHost(hostname);
}

/** Keys, and places in lists. */
export type SettingPath = readonly (string | number)[];

/** A path as `svc config set` takes it, quoted where it has to be: `mcp.servers."a.b".args[1]`. */
export function settingText(path: SettingPath): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      const text = /^[^.[\]"'\s]+$/.test(part) ? part : JSON.stringify(part);
      return index === 0 ? text : `.${text}`;
    })
    .join("");
}

/** Texts that need no quotes as a value, unless JSON5 reads them as something else. */
const PLAIN_TEXT = /^(?:[A-Za-z][\w:/.-]*|\$\{\w+\})$/;
const JSON5_WORD = /^(?:true|false|null|NaN|Infinity)$/;

/** `svc config set <path> <value>` for a POSIX shell. */
export function setCommand(path: SettingPath, value: unknown): string {
  const isPlain = typeof value === "string" && PLAIN_TEXT.test(value) && !JSON5_WORD.test(value);
  return commandText(["svc", "config", "set", settingText(path), isPlain ? value : JSON.stringify(value)]);
}

/** `svc config unset <path>` for a POSIX shell. */
export function unsetCommand(path: SettingPath): string {
  return commandText(["svc", "config", "unset", settingText(path)]);
}
