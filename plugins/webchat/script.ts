/** The script of the widget, as pages load it. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { lazy, type RouteReply, type RouteRequest } from "@svc/sdk";

/** Seconds for which browsers use it without asking. */
const FRESH_SECONDS = 300;

const load = lazy(async () => {
  const plain = await readFile(new URL("widget.js", import.meta.url));
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { plain, etag, compressed: await promisify(gzip)(plain, { level: 9 }) };
});

export async function serveScript({ headers }: Pick<RouteRequest<unknown>, "headers">): Promise<RouteReply> {
  const { plain, etag, compressed } = await load();
  const common = {
    ETag: etag,
    Vary: "Accept-Encoding",
    "Cache-Control": `public, max-age=${FRESH_SECONDS}`,
    // Pages of other origins embed it, also isolated ones and with a hash of the script.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
  };
  if (headers["if-none-match"] === etag) return { status: 304, headers: common };
  const type = { "Content-Type": "text/javascript; charset=utf-8" };
  const isZipped = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(headers["accept-encoding"] ?? ""));
  return isZipped
    ? { headers: { ...common, ...type, "Content-Encoding": "gzip" }, body: compressed }
    : { headers: { ...common, ...type }, body: plain };
}
