/** One request and its response over a connection to a vetted address. The only file that speaks HTTP. */
import { type Connect, dial } from "@svc/kit/net";
import type { Clock } from "@svc/sdk";
import type { OutboundResponse } from "@svc/sdk/web";
import { isIP, type Socket } from "node:net";
import { buildConnector, Client } from "undici";
import { checkLength, ENCODINGS, readBody } from "./body.ts";
import { addressesIn, contentTypeOf, flatHeaders } from "./headers.ts";
import { type Hop, isRedirect, type Redirection } from "./redirects.ts";

export interface ExchangeOptions {
  readonly connect: Connect;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Additional certificate authorities, in PEM. Default: only those of the runtime. */
  readonly ca?: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type Answer = { readonly redirect: Redirection } | { readonly response: OutboundResponse };

/**
 * @param addresses vetted addresses of the hop's host
 * @throws GatewayError `INVALID_REQUEST` with `TOO_LARGE`; errors of connection or body; the signal's reason
 */
export async function exchange(hop: Hop, addresses: readonly string[], options: ExchangeOptions): Promise<Answer> {
  const { maxBytes, signal, ca } = options;
  const { url } = hop.target;
  const socket = await dial(addresses, portOf(url), options);
  const client = new Client(url.origin, {
    connect: over(socket, url, ca),
    headersTimeout: 0, // the signal limits the time of the whole chain
    bodyTimeout: 0,
    allowH2: false,
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: hop.method,
      path: url.pathname + url.search,
      headers: { ...hop.headers, "accept-encoding": ENCODINGS },
      body: hop.body ?? null,
      reset: true,
      signal,
    });
    body.on("error", () => {}); // of a body that is not read to its end
    if (isRedirect(statusCode))
      return { redirect: { status: statusCode, locations: addressesIn(headers, "location") } };
    const flat = flatHeaders(headers);
    checkLength(flat["content-length"], maxBytes, url.hostname);
    const bytes = await readBody(body, flat["content-encoding"] ?? "", maxBytes, url.hostname);
    const response = { status: statusCode, url: url.href, headers: flat, body: bytes };
    return { response: { ...response, ...contentTypeOf(flat["content-type"]) } };
  } finally {
    await client.destroy().catch(() => {}); // the client is closed even if this fails
    socket.destroy(); // also if the TLS handshake failed
  }
}

/** Returns the one open connection, whatever host is requested; TLS is verified against the name in the URL. */
function over(socket: Socket, url: URL, ca: string | undefined): buildConnector.connector {
  const upgrade = buildConnector({ allowH2: false, timeout: 0, maxCachedSessions: 0, ...(ca ? { ca } : {}) });
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const name = isIP(host) === 0 ? { servername: host } : {};
  let used = false;
  const handOut: buildConnector.connector = (target, callback) => {
    if (used || socket.destroyed) callback(new Error("the connection closed early"), null);
    else if (url.protocol === "https:") upgrade({ ...target, ...name, hostname: host, httpSocket: socket }, callback);
    else callback(null, socket);
    used = true;
  };
  return (target, callback) => void setImmediate(handOut, target, callback); // the client does not start if the callback runs synchronously
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}
