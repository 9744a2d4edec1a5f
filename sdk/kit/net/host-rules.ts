/** Which hosts may be fetched, by name. Pure. Spec: http/responses.md §4, "URL fetch guard" 2 and 3. */
import { isIP } from "node:net";

/** Names of this machine and its network, including all names below them. */
const INSIDE = ["localhost", "local", "internal", "localhost.localdomain"];

/** @param host canonical: lower case, ASCII, no trailing dot */
export function isInsideName(host: string): boolean {
  return INSIDE.some((name) => host === name || host.endsWith(`.${name}`));
}

/** One entry of `allowHosts`. */
export interface HostRule {
  /** `undefined`: the entry could not be parsed and matches nothing. */
  readonly host: string | undefined;
  /** Match only names below `host`. */
  readonly below: boolean;
  /** Port of a URL that has one; default: any. */
  readonly port: string;
  /** Path of a URL; `/`: any path. */
  readonly path: string;
}

/**
 * The effective entries; an empty list allows every host. Blank entries, `*` and `*.` are ignored. An entry that cannot be
 * parsed matches nothing, so that a typing error never opens the list.
 */
export function hostRules(entries: readonly string[] = []): readonly HostRule[] {
  return entries
    .map((entry) => entry.trim())
    .filter((entry) => !["", "*", "*."].includes(entry))
    .map(ruleOf);
}

function ruleOf(entry: string): HostRule {
  const bare = isIP(entry) === 6 ? `[${entry}]` : entry.replace(/^[a-z][a-z0-9+.-]*:\/\//i, "");
  const [url, other] = ["http", "https"].map((scheme) => parseUrl(`${scheme}://${bare}`)); // each omits its own default port
  const host = url && canonicalHost(url.hostname);
  const below = host?.startsWith("*.") ?? false;
  const name = below ? host?.slice(2) : host;
  const readable = url && name && !name.includes("*") && !url.username && !url.password;
  return {
    host: readable ? name : undefined,
    below,
    port: url?.port || other?.port || "",
    path: url?.pathname ?? "/",
  };
}

/** @param base base of a relative `text` */
export function parseUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
}

/** Without trailing dots: `localhost.` becomes `localhost`. */
export function canonicalHost(hostname: string): string {
  return hostname.replace(/\.+$/, "");
}

/** @param url canonical */
export function isAllowed(rules: readonly HostRule[], url: URL): boolean {
  return rules.length === 0 || rules.some((rule) => matches(rule, url));
}

function matches({ host, below, port, path }: HostRule, url: URL): boolean {
  if (host === undefined || (port !== "" && port !== portOf(url))) return false;
  const fits = below ? isIP(url.hostname) === 0 && url.hostname.endsWith(`.${host}`) : url.hostname === host;
  return fits && isBelow(path, url.pathname);
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80");
}

/** Encoded dots and slashes, which a server may interpret as leaving the path. */
const HIDDEN_STEP = /%(?:25)*(?:2e|2f|5c)/i;

/** `/docs` includes `/docs` and `/docs/x`, but not `/docs-old`. */
function isBelow(prefix: string, path: string): boolean {
  if (prefix === "/") return true;
  const base = prefix.endsWith("/") ? prefix : `${prefix}/`;
  return !HIDDEN_STEP.test(path) && (path === prefix || path.startsWith(base));
}
