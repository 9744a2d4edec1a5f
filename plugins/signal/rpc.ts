/** Requests to the daemon: JSON-RPC over HTTP. */
import { jsonOf, readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, matches, messageOf, type Static, type TSchema, Type, unavailable } from "@svc/sdk";
import { redacted, refusalOf, rpcCodeOf, RpcError } from "./refusals.ts";

const REQUEST_MS = 20_000;
/** Maximum bytes of a response that carries no file. */
const MAX_BYTES = 16_000_000;

export interface Request {
  /** Address of the daemon. */
  readonly url: string;
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly signal: AbortSignal;
  /** Milliseconds; default 20,000. */
  readonly ms?: number;
  /** Maximum bytes of the response. */
  readonly maxBytes?: number;
}

const Answer = Type.Object({ result: Type.Optional(Type.Unknown()), error: Type.Optional(RpcError) });

/**
 * Calls a method of the daemon.
 * @throws GatewayError as `refusalOf`; `UNAVAILABLE`: the daemon cannot be reached, is late, or does not answer as one
 */
export async function ask<S extends TSchema>(
  request: Request,
  method: string,
  params: object,
  result: S,
): Promise<Static<S>> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params }); // one request for each connection
  const headers = { "content-type": "application/json" };
  const said = await exchange(request, "rpc", { method: "POST", headers, body });
  if (said?.error) throw refusalOf(said.error, method);
  const given = said?.result ?? {};
  return matches(result, given) ? given : unavailable(`signal-cli answers ${method} in an unknown way; update it`);
}

/** @throws GatewayError `UNAVAILABLE`: the daemon does not run */
export async function check(request: Request): Promise<void> {
  await exchange(request, "check", {});
}

function exchange(
  { url, clock, signal, ms = REQUEST_MS, maxBytes = MAX_BYTES }: Request,
  path: string,
  init: RequestInit,
): Promise<Static<typeof Answer> | undefined> {
  const late = () => `signal-cli did not answer within ${Math.round(ms / 1_000)} s`;
  return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
    const response = await fetched(`${url}/api/v1/${path}`, { ...init, signal: ending });
    const bytes = await readBody(response, maxBytes, () =>
      unavailable("signal-cli sends a response that is too large"),
    );
    const said = jsonOf(bytes);
    if (matches(Answer, said) && (said.error ?? said.result) !== undefined) return said;
    expectOk(response, clock); // what is between gateway and daemon knows only status codes
    return undefined;
  });
}

/** @throws GatewayError `UNAVAILABLE`: the daemon cannot be reached */
export async function fetched(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...init, redirect: "manual" });
  } catch (error) {
    init.signal?.throwIfAborted();
    const { code } = Object(Object(error).cause) as { readonly code?: unknown }; // shown as text
    const why = redacted(typeof code === "string" ? code : messageOf(error));
    return unavailable(`signal-cli cannot be reached: ${why}; next: check that it runs, and channels.signal.url`);
  }
}

/** @throws GatewayError `UNAVAILABLE` for any status but 2xx, with the time that a `Retry-After` names */
export function expectOk({ ok, status, headers }: Response, clock: Pick<Clock, "now">): void {
  const retryAfterMs = retryAfter(headers, clock.now());
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (!ok) unavailable(`signal-cli answers with status ${status}; next: check channels.signal.url`, wait);
}

const maybe = Type.Optional(Type.Union([Type.String(), Type.Null()]));
export const Account = Type.Object({ number: maybe, aci: maybe });
export type Account = Static<typeof Account>;

/** @returns `undefined`: the daemon serves one account, and does not tell which. @throws GatewayError as `ask` */
export async function listAccounts(request: Request): Promise<readonly Account[] | undefined> {
  try {
    return await ask(request, "listAccounts", {}, Type.Array(Account));
  } catch (error) {
    if (rpcCodeOf(error) === -32601) return undefined;
    throw error;
  }
}

export const isAccount = ({ number, aci }: Account, account: string): boolean => account === number || account === aci;

export const unlinked = () =>
  new GatewayError(
    "NOT_LINKED",
    "signal-cli does not have this account; next: link it with `svc channels login signal`, or correct channels.signal.account",
  );
