/** For plugins that call a model server without a client library. */
import { sameOriginFetch } from "../same-origin.ts";
import { boundedErrors } from "./event-stream.ts";
import { reportedError } from "./failures.ts";

/**
 * Sends a request that carries credentials: a redirect never takes them to another origin.
 * @throws for an error status an Error with the fields of a `ProviderError`, with at most 64 KB of its body: parsed JSON, or
 *   text; errors of `fetch`
 */
export async function requestModelServer(
  url: string | URL,
  init: RequestInit,
  fetch: typeof globalThis.fetch = globalThis.fetch,
): Promise<Response> {
  const response = await boundedErrors(sameOriginFetch(fetch))(url, init);
  if (response.ok) return response;
  const { status, headers } = response;
  const body = parsed(await response.text());
  throw Object.assign(reportedError(errorIn(body)), { status, headers, error: body });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.trim() === "" ? "(no body)" : text };
  }
}

/** The object with the message: APIs wrap it in `error`, or not. */
function errorIn(body: unknown): unknown {
  const { error } = Object(body) as { readonly error?: unknown };
  return error ?? body;
}
