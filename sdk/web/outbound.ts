/** The `OutboundFetch` service: fetches URLs named by external content without reaching non-public addresses. */
import { defineService } from "../service.ts";

/** A request to send. */
export interface OutboundRequest {
  /** `http:` or `https:`. */
  readonly url: string;
  /** Default `GET`. A redirect with 301, 302 or 303 changes it to `GET`. */
  readonly method?: "GET" | "POST";
  /** Credential headers are dropped once a redirect leads to another origin. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Allowed hosts, checked at every step: exact names, or `*.suffix` for subdomains. Default and blank: every public
   * host. Never permits a non-public range. Choice: an entry that is a URL matches by its host and, if it has one, its
   * path as prefix.
   */
  readonly allowHosts?: readonly string[];
  /** Maximum bytes of the body; a larger body is rejected. */
  readonly maxBytes: number;
  /** 0: redirects are not followed. */
  readonly maxRedirects: number;
  /** Milliseconds for the whole redirect chain. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** The last response of the redirect chain, whatever its status. */
export interface OutboundResponse {
  readonly status: number;
  /** URL of the last response. */
  readonly url: string;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Lower case, without parameters; `application/octet-stream` if the server does not declare it. */
  readonly contentType: string;
  /** Charset declared by the server. */
  readonly charset: string | undefined;
  readonly body: Uint8Array;
}

/** Why a fetch was rejected: `details.code` of the `INVALID_REQUEST`. */
export type OutboundRefusalCode =
  | "URL_INVALID"
  | "HOST_NOT_ALLOWED"
  | "ADDRESS_NOT_PUBLIC"
  | "TOO_MANY_REDIRECTS"
  | "REDIRECT_INVALID"
  | "TOO_LARGE";

/** Fetches from public addresses only. */
export interface OutboundFetch {
  /**
   * Resolves each host once, rejects it if any of its addresses is not public (in any spelling), connects to the
   * checked address, and repeats this for each redirect.
   * @throws GatewayError `INVALID_REQUEST` with an `OutboundRefusalCode` in `details.code`; `UNAVAILABLE` if the host
   * does not respond in time or at all; the reason of the signal
   */
  fetch(request: OutboundRequest): Promise<OutboundResponse>;
}

/** Token of the service. */
export const OutboundFetch = defineService<OutboundFetch>()("outbound.fetch", "1.0.0", {
  summary:
    "Fetches public URLs safely. Provided by the plugin `outbound`; used by every plugin that fetches a URL it does not control.",
  remotable: true,
});
