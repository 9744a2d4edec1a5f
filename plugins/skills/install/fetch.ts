/** Downloads one file from a public https address. */
import { writeFile } from "node:fs/promises";
import type { ArchiveLimits } from "@svc/kit/archive";
import { invalidRequest, unavailable } from "@svc/sdk";
import type { OutboundFetch } from "@svc/sdk/web";

/** Choice: limits of programs that skills download. */
export const DOWNLOAD_LIMITS: ArchiveLimits = {
  packedBytes: 64 * 1024 * 1024,
  unpackedBytes: 256 * 1024 * 1024,
  entries: 5_000,
};

export interface FetchOptions {
  readonly outbound: OutboundFetch | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Default: that of `DOWNLOAD_LIMITS`. */
  readonly maxBytes?: number;
}

/** @throws GatewayError `INVALID_REQUEST`: not https, not public, too large; `UNAVAILABLE` */
export async function fetchFile(url: string, file: string, options: FetchOptions): Promise<void> {
  const { outbound, timeoutMs, signal, maxBytes = DOWNLOAD_LIMITS.packedBytes } = options;
  if (!URL.canParse(url) || new URL(url).protocol !== "https:")
    invalidRequest(`${JSON.stringify(url)} is not an https URL`);
  if (!outbound) unavailable("downloads need the plugin outbound; see svc plugins why outbound");
  const { status, body, url: last } = await outbound.fetch({ url, maxBytes, maxRedirects: 5, timeoutMs, signal });
  if (!last.startsWith("https:")) invalidRequest(`${url} leads to ${last}, which is not https`);
  if (status !== 200) unavailable(`${url} answered with status ${status}; check the address`);
  await writeFile(file, body, { mode: 0o600, flag: "wx" });
}
