/** HTTP requests with a deadline. No error contains an address: some addresses are secret. */
import { readBody } from "@svc/kit/body";
import { megabytes, retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";

export interface RequestContext {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly signal: AbortSignal;
}

/** `who`: the other side, for errors; `ms`: default 15 seconds; `maxBytes`: default 1 MB. */
interface Request extends Omit<RequestInit, "signal" | "redirect"> {
  readonly url: string;
  readonly who: string;
  readonly ms?: number;
  readonly maxBytes?: number;
}

export type Answer = Awaited<ReturnType<typeof ask>>;

/** Follows no redirects. `data`: of a JSON body. @throws GatewayError `UNAVAILABLE`; `INVALID_REQUEST`: it is too large */
export async function ask(request: Request, { clock, signal }: RequestContext) {
  const { url, who, ms = 15_000, maxBytes = 1_000_000, ...init } = request;
  const deadline = { ms, clock, signals: [signal], late: () => `${who} did not answer in time` };
  return withDeadline(deadline, async (ending) => {
    try {
      const response = await fetch(url, { ...init, signal: ending, redirect: "manual" });
      const { status, headers } = response;
      const size = Math.max(maxBytes, Number(headers.get("content-length") ?? 0));
      const refuse = () => invalidRequest(`it has ${megabytes(size)}, at most ${megabytes(maxBytes)} are accepted`);
      if (size > maxBytes) await response.body?.cancel().then(refuse);
      const body = await readBody(response, maxBytes, refuse);
      const data: unknown = await new Response(body).json().catch(() => undefined);
      if (![408, 412, 429].includes(status) && status < 500) return { status, headers, body, data };
      const retryAfterMs = retryAfter(headers, clock.now());
      const said = status === 429 ? "limits the rate of requests" : `failed with status ${status}`;
      return unavailable(`${who} ${said}`, retryAfterMs === undefined ? {} : { retryAfterMs });
    } catch (error) {
      if (isGatewayError(error)) throw error;
      const { code } = Object(Object(error).cause) as { readonly code?: unknown }; // shown as text
      return unavailable(`${who} cannot be reached${typeof code === "string" ? `: ${code}` : ""}`);
    }
  });
}
