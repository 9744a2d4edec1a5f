/** The target of a connection: a server's configuration with its secrets resolved. */
import { invalidRequest, unavailable } from "@svc/sdk";
import { isSecretRef, type SecretRef, type Secrets } from "@svc/sdk/secrets";
import type { SandboxSettings } from "@svc/sdk/tools";
import { childEnvironment, type Program } from "./child-transport.ts";
import { isAddress, type ServerEntry } from "./config.ts";

export interface HttpTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: "streamable-http" | "sse";
}

export interface Target {
  readonly place: { readonly program: Program } | { readonly http: HttpTarget };
  /** Values to remove from log lines. */
  readonly hidden: readonly string[];
}

export interface TargetContext {
  readonly secrets: () => Pick<Secrets, "reveal"> | undefined;
  /** Environment of this process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working directory of a program without `cwd`. */
  readonly cwd: () => string;
  /** Returns the program to start in the sandbox of its settings. @throws GatewayError */
  readonly confine: (program: Program, settings: SandboxSettings) => Promise<Program>;
}

type Setting = string | SecretRef;

/** @throws GatewayError with the cause, never a value */
export async function targetOf(entry: ServerEntry, { secrets, env, cwd, confine }: TargetContext): Promise<Target> {
  const reveal = async (setting: Setting): Promise<string> => {
    if (!isSecretRef(setting)) return setting;
    const finder = secrets() ?? unavailable("no running plugin provides secrets; see `svc plugins why secrets`");
    return finder.reveal(setting);
  };
  const revealAll = async (settings: Readonly<Record<string, Setting>> = {}) => {
    const pairs = Object.entries(settings).map(async ([name, setting]) => [name, await reveal(setting)] as const);
    return Object.fromEntries(await Promise.all(pairs));
  };
  if (entry.url === undefined) {
    const { command = "", args = [] } = entry;
    const added = await revealAll(entry.env);
    const plain = { command, args, env: childEnvironment(env, added), cwd: entry.cwd ?? cwd() };
    const program = entry.sandbox === undefined ? plain : await confine(plain, entry.sandbox);
    return { place: { program }, hidden: Object.values(added) };
  }
  const address = await reveal(entry.url);
  if (!isAddress(address)) invalidRequest("the url is not an address such as https://mcp.example.com/mcp");
  const url = new URL(address);
  const headers = await revealAll(entry.headers);
  const { transport = "streamable-http" } = entry;
  const parts = [address, url.href, url.pathname, url.search.slice(1)];
  return { place: { http: { url, headers, transport } }, hidden: [...parts, ...Object.values(headers)] };
}

/** Shorter values are not removed: they occur in many texts by chance. */
const MIN_HIDDEN_CHARS = 6;

/** Replaces the values in `text` by `***`. */
export function withoutHidden(text: string, hidden: readonly string[]): string {
  const long = hidden.filter((value) => value.length >= MIN_HIDDEN_CHARS);
  return long
    .toSorted((one, other) => other.length - one.length)
    .reduce((so, value) => so.replaceAll(value, "***"), text);
}
