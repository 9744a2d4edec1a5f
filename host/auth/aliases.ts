/**
 * Names that existing clients use instead of `svc`: `gateway.aliases`. None is built in.
 * Spec: spec/README.md "product name in identifiers"; protocol/frames-and-connect.md §4. Pure.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Suffixes of the client ids that contain the name. */
const CLIENT_KINDS = ["control-ui", "macos", "ios", "android", "probe"] as const;

/**
 * `<name>-control-ui` becomes `svc-control-ui`, and so on; every other id stays as it is.
 * Only for rules about clients: a device signs the id it sent, so the proof is checked with the raw id.
 */
export function canonicalClientId(id: string, aliases: readonly string[] = []): string {
  for (const alias of aliases) {
    const kind = CLIENT_KINDS.find((known) => id === `${alias}-${known}`);
    if (kind) return `svc-${kind}`;
  }
  return id;
}

/**
 * Makes `x-<name>-foo` readable as `x-svc-foo`, too; an explicit `x-svc-foo` wins, then the longest name.
 * Only for request handlers: proxies strip headers by their raw names, so authentication uses the raw headers.
 * @returns the same object when nothing was added
 */
export function canonicalHeaders(headers: IncomingHttpHeaders, aliases: readonly string[] = []): IncomingHttpHeaders {
  if (aliases.length === 0) return headers;
  const prefixes = aliases.map((alias) => `x-${alias}-`).sort((a, b) => b.length - a.length);
  const added: Record<string, { readonly value: string | string[] | undefined; readonly rank: number }> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith("x-")) continue;
    const rank = prefixes.findIndex((prefix) => name.length > prefix.length && name.startsWith(prefix));
    if (rank < 0) continue;
    const canonical = `x-svc-${name.slice(prefixes[rank]?.length)}`;
    if (Object.hasOwn(headers, canonical) || (added[canonical]?.rank ?? Infinity) < rank) continue;
    added[canonical] = { value, rank };
  }
  const found = Object.entries(added).map(([name, { value }]) => [name, value] as const);
  return found.length === 0 ? headers : { ...headers, ...Object.fromEntries(found) };
}

/** Environment variables of the shared secrets, in the order they are read. */
export interface EnvironmentNames {
  readonly token: readonly string[];
  readonly password: readonly string[];
}

/** `SVC_GATEWAY_TOKEN`, then `<NAME>_GATEWAY_TOKEN` of every alias; the same for the password. */
export function environmentNames(aliases: readonly string[] = []): EnvironmentNames {
  const names = ["SVC", ...aliases.map((alias) => alias.toUpperCase().replaceAll("-", "_"))];
  return {
    token: names.map((name) => `${name}_GATEWAY_TOKEN`),
    password: names.map((name) => `${name}_GATEWAY_PASSWORD`),
  };
}
