/**
 * The guarded fetch: checks each hop, resolves each name once, and connects only to vetted addresses. Loaded on first use.
 * Spec: http/responses.md §4, "URL fetch guard".
 */
import {
  type Connect,
  connectSocket,
  type HostRule,
  hostRules,
  inOrder,
  publicAddress,
  type Resolve,
  resolveName,
} from "@svc/kit/net";
import { withDeadline } from "@svc/kit/time";
import { type Clock, isGatewayError, messageOf, unavailable, untilAborted } from "@svc/sdk";
import type { OutboundFetch, OutboundRequest, OutboundResponse } from "@svc/sdk/web";
import { exchange, type ExchangeOptions } from "./exchange.ts";
import { requestHeaders } from "./headers.ts";
import { type Hop, nextHop } from "./redirects.ts";
import { refuse } from "./refusal.ts";
import { type Target, targetOf } from "./target.ts";

export interface OutboundDeps {
  readonly clock: Pick<Clock, "setTimeout">;
  /** Ends all fetches in progress. */
  readonly signal: AbortSignal;
  /** All addresses of a name. Default: the resolver of this machine. */
  readonly resolve?: Resolve;
  /** Default: a TCP connection. Only called with vetted addresses. */
  readonly connect?: Connect;
  /** Additional certificate authorities, in PEM. Default: only those of the runtime. */
  readonly ca?: string;
}

export function createOutboundFetch(deps: OutboundDeps): OutboundFetch {
  const { clock, signal: stopping, resolve = resolveName, connect = connectSocket, ca } = deps;

  async function vetted({ url, address }: Target): Promise<readonly string[]> {
    if (address !== undefined) return [address];
    const host = url.hostname;
    const found = await resolve(host).catch((error: unknown) => unreachable(host, "cannot be resolved", error));
    if (found.length === 0) unavailable(`${host} has no address`);
    const usable = found.map(publicAddress);
    // Choice: the address is not part of the error, so that refusals do not reveal the inside of a network.
    return inOrder(
      usable.map((one) => one ?? refuse("ADDRESS_NOT_PUBLIC", `${host} resolves to an address that is not public`)),
    );
  }

  async function follow(first: Hop, rules: readonly HostRule[], options: Follow): Promise<OutboundResponse> {
    for (let hop = first; ;) {
      const host = hop.target.url.hostname;
      options.at(host);
      const addresses = await vetted(hop.target);
      options.signal.throwIfAborted();
      const answer = await exchange(hop, addresses, options).catch((error: unknown) => {
        options.signal.throwIfAborted();
        return unreachable(host, "does not respond", error);
      });
      if ("response" in answer) return answer.response;
      hop = nextHop(hop, answer.redirect, rules, options.maxRedirects);
    }
  }

  return {
    async fetch(request) {
      const { timeoutMs, signal } = request;
      const rules = hostRules(request.allowHosts);
      const first = firstHop(request, rules);
      let host = "";
      const signals = signal ? [signal, stopping] : [stopping];
      const late = () => `${host} did not respond within ${timeoutMs} ms`;
      const { maxBytes, maxRedirects } = request;
      const limits = { connect, clock, maxBytes, maxRedirects, timeoutMs, ...(ca && { ca }) };
      const at = (current: string) => (host = current);
      return withDeadline({ ms: timeoutMs, clock, signals, late }, (ending) =>
        untilAborted(follow(first, rules, { ...limits, signal: ending, at }), ending),
      );
    },
  };
}

interface Follow extends ExchangeOptions {
  readonly maxRedirects: number;
  /** Called with each host before the request. */
  at(host: string): void;
}

function firstHop({ url, method = "GET", headers, body }: OutboundRequest, rules: readonly HostRule[]): Hop {
  return { target: targetOf(url, rules), method, headers: requestHeaders(headers), body, seen: [] };
}

/** @throws GatewayError always; an existing one unchanged */
function unreachable(host: string, what: string, error: unknown): never {
  if (isGatewayError(error)) throw error;
  const code = error instanceof Error && "code" in error ? String(error.code) : messageOf(error);
  return unavailable(`${host} ${what} (${code})`, { cause: error });
}
