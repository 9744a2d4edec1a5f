/** One request to a plugin's route, as the handler gets it; the query and the signal are created on first use. */
import type { Principal, RouteRequest } from "@svc/sdk";
import type { Context } from "koa";
import { canonicalHeaders } from "../../auth/aliases.ts";
import type { Peer } from "../../auth/client-address.ts";
import { isLocal } from "../../auth/locality.ts";

interface RouteCallParts {
  readonly context: Context;
  readonly peer: Peer;
  readonly principal: Principal | undefined;
  readonly rawBody: Buffer;
  /** Matches the route's schema. */
  readonly body: unknown;
  readonly aliases: readonly string[];
}

export class RouteCall {
  readonly principal: Principal | undefined;
  readonly request: RouteRequest<never>;
  readonly #context: Context;
  #gone: AbortController | undefined;

  constructor({ context, peer, principal, rawBody, body, aliases }: RouteCallParts) {
    this.principal = principal;
    this.#context = context;
    const signal = () => this.#signal();
    let query: URLSearchParams | undefined;
    this.request = {
      method: context.method,
      path: context.path,
      params: (context as unknown as { params: Record<string, string> }).params, // set by the router
      get query() {
        return (query ??= new URLSearchParams(context.querystring));
      },
      headers: canonicalHeaders(context.headers, aliases),
      body: body as never,
      rawBody,
      principal,
      remoteAddress: peer.clientAddress ?? peer.remoteAddress,
      local: isLocal(peer),
      get signal() {
        return signal();
      },
    };
  }

  /** Aborts the response at once: the client is no longer authorized. */
  cutOff(): void {
    this.#gone?.abort();
    this.#context.res.destroy();
  }

  /** Aborts when the client disconnects before it has the whole response. */
  #signal(): AbortSignal {
    if (this.#gone) return this.#gone.signal;
    const gone = (this.#gone = new AbortController());
    const { res } = this.#context;
    const left = () => {
      if (!res.writableFinished) gone.abort();
    };
    if (res.closed) left();
    else res.once("close", left);
    return gone.signal;
  }
}
