/** Security checks of a plugin: `svc security audit` imports the file named in package.json under `svc.security`. */
import { isLoopbackHost } from "./client/address.ts";
import type { GatewayClient } from "./client/index.ts";
import { commandText } from "./command-text.ts";
import { type SettingPath, settingText } from "./setting-path.ts";

/**
 * `critical`: an attacker can take over the gateway or read its secrets. `warning`: one more mistake leads to that.
 * `info`: worth knowing.
 */
export type SecuritySeverity = "critical" | "warning" | "info";

/** Input of a check. */
export interface SecurityView {
  /**
   * The configuration after resolving includes and variables. Values may have any shape: the file need not be valid.
   */
  readonly config: Readonly<Record<string, unknown>>;
  /** State directory of this machine; it may not exist. */
  readonly stateDir: string;
  /** epoch ms */
  readonly now: number;
}

/** One finding of a check. */
export interface SecurityHit {
  /** The affected key, file or device. */
  readonly about: string;
  /** The finding in one sentence. Never contains a secret. */
  readonly message: string;
  /** The command line that fixes it. */
  readonly fix: string;
  /** Default: the severity of the check. */
  readonly severity?: SecuritySeverity;
}

interface CheckFacts {
  /** `<plugin id>.<name>`; stable across versions. */
  readonly id: string;
  readonly severity: SecuritySeverity;
  /** Why it matters, in one sentence. */
  readonly why: string;
}

/** A check of configuration and files. Needs no running gateway. */
export interface SecurityFileCheck extends CheckFacts {
  find(view: SecurityView): readonly SecurityHit[] | Promise<readonly SecurityHit[]>;
}

/** A check of facts only known to the running gateway. Without a running gateway, the audit reports it as not run. */
export interface SecurityGatewayCheck extends CheckFacts {
  /** @param client with the scopes `operator.admin` and `operator.pairing` */
  ask(client: GatewayClient, view: SecurityView): Promise<readonly SecurityHit[]>;
}

/** One check. If it throws, the audit reports the check as not run. */
export type SecurityCheck = SecurityFileCheck | SecurityGatewayCheck;

/** Declares the checks of a plugin; default export of its `svc.security` file. */
export function defineSecurityChecks(checks: readonly SecurityCheck[]): readonly SecurityCheck[] {
  return checks;
}

/** The own property at a dotted path of a configuration of any shape, or `undefined`. */
export function configAt(config: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((node, key) => {
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, key)) return undefined;
    return (node as Readonly<Record<string, unknown>>)[key];
  }, config);
}

/** The members of an object or list that are objects themselves, by key; empty for any other value. */
export function entriesOf(
  value: unknown,
): readonly (readonly [key: string, entry: Readonly<Record<string, unknown>>])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) =>
    typeof entry === "object" && entry !== null ? [[key, entry as Readonly<Record<string, unknown>>] as const] : [],
  );
}

/** The strings of a list of any shape, trimmed. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.flatMap((item) => (typeof item === "string" ? [item.trim()] : [])) : [];
}

/** Whether a value is an address reached over a network without TLS: `http:` or `ws:`, and not this machine. */
export function isClearAddress(value: unknown): value is string {
  if (typeof value !== "string" || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return ["http:", "ws:"].includes(protocol) && !isLoopbackHost(hostname);
}

/** Texts that need no quotes as a value, unless JSON5 gives them another meaning. */
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
