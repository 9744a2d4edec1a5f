/** HTTP requests with a deadline. No error contains an address: some addresses are secret. */
import { readBody } from "@svc/kit/body";
import { retryAfter, withDeadline } from "@svc/kit/time";
import { type Clock, invalidRequest, isGatewayError, unavailable } from "@svc/sdk";

export interface RequestContext {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** `undefined`: the body is not JSON. */
  readonly data: unknown;
}

interface Request extends Omit<RequestInit, "signal" | "redirect" | "body"> {
  readonly url: string;
  readonly body?: string | Uint8Array | URLSearchParams;
  /** The other side, for errors. */
  readonly who: string;
  /** Default 15 seconds. */
  readonly ms?: number;
  /** Default 1 MB. */
  readonly maxBytes?: number;
}

/** Redirects are not followed. @throws GatewayError `UNAVAILABLE`: no answer, or one after which a retry may succeed */
export async function ask(
  { url, who, ms = 15_000, maxBytes = 1_000_000, body: sent, ...init }: Request,
  { clock, signal }: RequestContext,
): Promise<Answer> {
  const late = () => `${who} did not answer in time`;
  return withDeadline({ ms, clock, signals: [signal], late }, async (ending) => {
    const lost = ({ cause }: { readonly cause?: unknown }): never => {
      const { code } = Object(cause) as { readonly code?: unknown }; // shown as text
      return unavailable(`${who} cannot be reached${typeof code === "string" ? `: ${code}` : ""}`);
    };
    const options = { ...init, signal: ending, redirect: "manual" } as const;
    const response = await fetch(url, sent === undefined ? options : { ...options, body: sent }).catch(lost);
    const { status, headers } = response;
    const tooLong = () => invalidRequest(`${who} sent more than ${maxBytes / 1_000_000} MB`);
    const length = Number(headers.get("content-length") ?? 0);
    if (length > maxBytes) {
      await response.body?.cancel();
      const megabytes = (bytes: number) => `${Number((bytes / 1_000_000).toFixed(1))} MB`;
      invalidRequest(`it has ${megabytes(length)}, at most ${megabytes(maxBytes)} are accepted`);
    }
    const body = await readBody(response, maxBytes, tooLong).catch((error: unknown) =>
      isGatewayError(error) ? Promise.reject(error) : lost(Object(error)),
    );
    if (status === 408 || status === 412 || status === 429 || status >= 500) {
      const retryAfterMs = retryAfter(headers, clock.now());
      const said = status === 429 ? "limits the rate of requests" : `failed with status ${status}`;
      unavailable(`${who} ${said}`, retryAfterMs === undefined ? {} : { retryAfterMs });
    }
    return { status, headers, body, data: parsed(body) };
  });
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}
