/** Computes the request that follows a redirect. Pure. Spec: http/responses.md §4, "URL fetch guard" 6. */
import { type HostRule, parseUrl } from "@svc/kit/net";
import { refuse } from "./refusal.ts";
import { type Target, targetOf } from "./target.ts";

/** One request of the chain. */
export interface Hop {
  readonly target: Target;
  readonly method: "GET" | "POST";
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  /** Keys of the requests before this one. */
  readonly seen: readonly string[];
}

/** The parts of a response that decide about a redirect. */
export interface Redirection {
  readonly status: number;
  /** All `Location` headers. */
  readonly locations: readonly string[];
}

export function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/**
 * Choice: a list of headers that another origin may receive; all others are removed, because not every header with
 * credentials is known. Removed headers are not added again.
 */
const KEPT_ACROSS_ORIGINS = ["accept", "accept-language", "cache-control", "content-type", "pragma", "user-agent"];

/** @throws GatewayError `INVALID_REQUEST`: too many redirects, a circle, not exactly one destination, or a destination that is not allowed */
export function nextHop(hop: Hop, answer: Redirection, rules: readonly HostRule[], maxRedirects: number): Hop {
  const { target, seen } = hop;
  const host = target.url.hostname;
  const location = answer.locations[0]?.trim();
  if (!location || answer.locations.length > 1)
    return refuse("REDIRECT_INVALID", `${host} redirects without exactly one destination (${answer.status})`);
  if (seen.length >= maxRedirects)
    refuse("TOO_MANY_REDIRECTS", `more than ${maxRedirects} redirects; the last was from ${host}`);
  if (parseUrl(location, target.url) === undefined)
    refuse("REDIRECT_INVALID", `${host} redirects to an invalid URL (${answer.status})`);

  const next = targetOf(location, rules, target.url);
  const becomesGet = hop.method === "GET" || [301, 302, 303].includes(answer.status);
  const method = becomesGet ? "GET" : hop.method;
  const headers = Object.entries(hop.headers).filter(
    ([name]) =>
      (next.url.origin === target.url.origin || KEPT_ACROSS_ORIGINS.includes(name)) &&
      !(becomesGet && name === "content-type"),
  );
  const circle = [...seen, keyOf(hop)];
  const following: Hop = {
    target: next,
    method,
    headers: Object.fromEntries(headers),
    body: becomesGet ? undefined : hop.body,
    seen: circle,
  };
  if (circle.includes(keyOf(following))) refuse("REDIRECT_INVALID", `${host} redirects in a circle`);
  return following;
}

function keyOf({ method, target: { url } }: Hop): string {
  return `${method} ${url.origin}${url.pathname}${url.search}`;
}
