/** Headers of requests and responses. Pure. */
import { invalidRequest } from "@svc/sdk";

/** Headers that the connection sets. */
const OWN_HEADERS = [
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** Spec: http/responses.md §4: the product's name and 1.0. */
const USER_AGENT = "svc/1.0";

/**
 * Headers with lower-case names, and a default `User-Agent`.
 * @throws GatewayError `INVALID_REQUEST` for a header that the connection sets
 */
export function requestHeaders(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const headers = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  const own = headers.find(([name]) => OWN_HEADERS.includes(name));
  if (own) invalidRequest(`the header ${own[0]} is set by the connection; remove it`);
  return { "user-agent": USER_AGENT, ...Object.fromEntries(headers) };
}

/** Headers as received; a repeated header has a list. */
export type RawHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

function allOf(headers: RawHeaders, name: string): readonly string[] {
  return [headers[name] ?? []].flat();
}

/** URLs in a header: valid UTF-8 is decoded, as browsers do. */
export function addressesIn(headers: RawHeaders, name: string): readonly string[] {
  return allOf(headers, name).map((value) => {
    const text = Buffer.from(value, "latin1").toString();
    return text.includes("\ufffd") ? value : text;
  });
}

/** Repeated headers joined to one line. */
export function flatHeaders(headers: RawHeaders): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name.toLowerCase(), allOf(headers, name).join(", ")]));
}

const TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;

/** Parses a `Content-Type`. */
export function contentTypeOf(header = ""): { readonly contentType: string; readonly charset: string | undefined } {
  const [type = "", ...parameters] = header.split(";");
  const name = type.trim().toLowerCase();
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([a-z0-9_.:-]+)"?\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined);
  return { contentType: TYPE.test(name) ? name : "application/octet-stream", charset };
}
