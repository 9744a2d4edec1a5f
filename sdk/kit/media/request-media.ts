/** Files and pictures in a request: decoded or fetched, within limits. Spec: http/responses.md §4. */
import { GatewayError, invalidRequest } from "@svc/sdk";
import type { OutboundFetch } from "@svc/sdk/web";

/** Source of a file. */
export type MediaSource =
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly data: string; readonly mimeType: string };

/** Limits for accepted files. */
export interface MediaLimits {
  readonly allowUrl: boolean;
  readonly urlAllowlist?: readonly string[];
  /** Lower case, without parameters. Absent: any type. */
  readonly allowedMimes?: readonly string[];
  readonly maxBytes: number;
  readonly maxRedirects: number;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/** A loaded file. */
export interface LoadedMedia {
  readonly bytes: Uint8Array;
  /** Lower case, without parameters. */
  readonly mimeType: string;
  readonly charset?: string;
}

/**
 * The source for a URL; `data:` URLs contain base64 text.
 * @throws GatewayError `INVALID_REQUEST` for a data URL that is not base64
 */
export function sourceOfUrl(url: string): MediaSource {
  if (!/^data:/i.test(url)) return { type: "url", url };
  const [, mimeType = "text/plain", data] = /^data:([^,]*?);base64,([\s\S]*)$/i.exec(url) ?? [];
  if (data === undefined) invalidRequest("a data URL must be base64: data:<type>;base64,<text>");
  return { type: "base64", data, mimeType };
}

/** @throws GatewayError `INVALID_REQUEST` naming the limit; errors of `OutboundFetch.fetch` */
export async function loadMedia(
  source: MediaSource,
  limits: MediaLimits,
  outbound: OutboundFetch | undefined,
  signal?: AbortSignal,
): Promise<LoadedMedia> {
  if (source.type === "base64") {
    const mimeType = bareType(source.mimeType);
    requireMime(mimeType, limits);
    return { bytes: decode(source.data, limits.maxBytes), mimeType };
  }
  if (!limits.allowUrl) invalidRequest("URLs are not fetched here: send the content as base64");
  if (!outbound) throw new GatewayError("UNAVAILABLE", "URLs cannot be fetched: the plugin `outbound` is not running");
  const { maxBytes, maxRedirects, timeoutMs, urlAllowlist } = limits;
  const answer = await outbound.fetch({
    url: source.url,
    maxBytes,
    maxRedirects,
    timeoutMs,
    ...(urlAllowlist === undefined ? {} : { allowHosts: urlAllowlist }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer.status < 200 || answer.status > 299) invalidRequest(`the URL answered ${answer.status}`);
  requireMime(answer.contentType, limits);
  const charset = answer.charset === undefined ? {} : { charset: answer.charset };
  return { bytes: answer.body, mimeType: answer.contentType, ...charset };
}

function bareType(mimeType: string): string {
  return (mimeType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function requireMime(mimeType: string, { allowedMimes }: MediaLimits): void {
  if (allowedMimes?.includes(mimeType) === false)
    invalidRequest(`content of type ${mimeType || "unknown"} is not taken here`);
}

/** The size is estimated before decoding, so an oversized text costs nothing. */
function decode(data: string, maxBytes: number): Uint8Array {
  const text = data.replace(/\s+/g, "");
  const bytes = Math.floor((text.length * 3) / 4) - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
  if (bytes > maxBytes) invalidRequest(`${bytes} bytes are too many: at most ${maxBytes} are taken`);
  if (text === "" || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text))
    invalidRequest("the content is not base64");
  const decoded = Buffer.from(text, "base64");
  if (decoded.toString("base64") !== text) invalidRequest("the content is not canonical base64");
  return decoded;
}
