/** The `OutboundFetch` service: fetching what content from outside names, without reaching what is not public. */
import { defineService } from "../service.ts";

/** What to fetch. */
export interface OutboundRequest {
  /** `http:` or `https:`. */
  readonly url: string;
  /** Default `GET`. A redirect of 301, 302 or 303 makes it `GET`. */
  readonly method?: "GET" | "POST";
  /** Credentials among them are left out once a redirect leads to another origin. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /**
   * Hosts that may be asked, at every step: exact names, or `*.suffix` for what is below it. Default and blank: every
   * public one. Never opens a range that is not public. Choice: an entry that is a URL counts by its host and, where it
   * has one, its path as prefix.
   */
  readonly allowHosts?: readonly string[];
  /** Bytes of the body; more is a refusal. */
  readonly maxBytes: number;
  /** 0: none is followed. */
  readonly maxRedirects: number;
  /** Milliseconds for the whole chain. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What came back: the last answer of the chain, whatever its status. */
export interface OutboundResponse {
  readonly status: number;
  /** Where it came from in the end. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Lower case, without parameters; `application/octet-stream` where the server does not say. */
  readonly contentType: string;
  /** As declared. */
  readonly charset: string | undefined;
  readonly body: Uint8Array;
}

/** Why a fetch was refused: `details.code` of the `INVALID_REQUEST`. */
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
   * Resolves each host once, refuses when any of its addresses is not public (in every spelling), connects to the vetted
   * address, and does all of it again for each redirect.
   * @throws GatewayError `INVALID_REQUEST` with `details.code` an `OutboundRefusalCode`; `UNAVAILABLE` when the host does
   *   not answer in time or at all; the signal's reason
   */
  fetch(request: OutboundRequest): Promise<OutboundResponse>;
}

/** Fetching from outside. Provided by the plugin `outbound`. */
export const OutboundFetch = defineService<OutboundFetch>()("outbound.fetch", "1.0.0");
