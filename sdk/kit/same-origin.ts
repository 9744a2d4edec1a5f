/**
 * `fetch` for servers that receive credentials: a redirect never sends them to another origin: `@svc/kit/same-origin`.
 */
import { unavailable } from "@svc/sdk";

/** Choice: maximum number of redirects within one origin. */
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Wraps `real` to follow redirects within the origin of the address only. Choice: `fetch` itself drops `authorization`
 * and cookies on redirects to another origin, but not `x-api-key`, other headers or the body; `http:` and `https:` of
 * one host are two origins. A body must be text or bytes, because it is sent again after a 307 or 308.
 * @throws GatewayError `UNAVAILABLE` for a redirect to another origin or an invalid address, and for the sixth
 * redirect; errors of `real`
 */
export function sameOriginFetch(real: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  const guarded: Fetch = async (address, first = {}) => {
    let url = new URL(address);
    let init = first;
    for (let followed = 0; ; followed += 1) {
      const response = await real(url, { ...init, redirect: "manual" });
      const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
      if (location === null) return response;
      await response.body?.cancel();
      const next = within(url, location, response.status);
      if (followed === MAX_REDIRECTS) unavailable(`${url.origin} redirects more than ${MAX_REDIRECTS} times`);
      init = afterRedirect(init, response.status);
      url = next;
    }
  };
  return async (input, init) => {
    if (input instanceof Request) throw new TypeError("sameOriginFetch takes an address, not a Request");
    return guarded(input, init);
  };
}

function within({ href, origin }: URL, location: string, status: number): URL {
  if (!URL.canParse(location, href)) unavailable(`${origin} redirects to an invalid address (${status})`);
  const next = new URL(location, href);
  if (next.origin === origin) return next;
  return unavailable(
    `${origin} redirects to ${next.origin} (${status}), and credentials are not sent to another origin than the configured one\n` +
      `Next: configure ${next.origin} as the address if you trust it`,
  );
}

/** Spec: Fetch standard, "HTTP-redirect fetch": a change of the method drops the body. */
function afterRedirect(init: RequestInit, status: number): RequestInit {
  const { method = "GET", body: _body, ...rest } = init;
  const becomesGet = status === 303 ? !/^(?:GET|HEAD)$/iu.test(method) : status < 303 && /^POST$/iu.test(method);
  if (!becomesGet) return init;
  const headers = new Headers(rest.headers);
  for (const name of ["content-type", "content-length", "content-encoding", "content-language"]) headers.delete(name);
  return { ...rest, headers, method: "GET" };
}
