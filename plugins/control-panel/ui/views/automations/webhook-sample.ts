/** A request that a mapping accepts, made from its conditions and the places of its templates. No drawing. */
import type { WebhookMappingInfo } from "@svc/sdk/webhooks";

export interface SampleRequest {
  readonly headers: Record<string, string>;
  readonly payload: Record<string, unknown>;
}

/** Bodies of direct paths, whose fields no template names. */
const DIRECT: Readonly<Record<string, Record<string, unknown>>> = {
  agent: { message: "Look at the backup" },
  wake: { text: "The backup is done" },
};

/** A request for which the conditions of the mapping hold. */
export function sampleOf({
  match,
  origin,
  action,
}: Pick<WebhookMappingInfo, "match" | "origin" | "action">): SampleRequest {
  const {
    headers = {},
    when = {},
    source,
  } = Object(match) as {
    readonly headers?: Readonly<Record<string, unknown>>;
    readonly when?: Readonly<Record<string, unknown>>;
    readonly source?: unknown;
  };
  const payload: Record<string, unknown> = origin === "action" ? { ...DIRECT[action] } : {};
  if (typeof source === "string") payload["source"] = source;
  for (const [place, wanted] of Object.entries(when)) {
    const value = valueFor(wanted);
    if (value !== undefined) put(payload, place, value);
  }
  const given = Object.entries(headers).map(([name, wanted]) => [name, String(firstOf(wanted))]);
  return { headers: Object.fromEntries(given) as Record<string, string>, payload };
}

/** The request with a text at each place that has none. @param missing as `webhooks.try` reports them */
export function filled({ headers, payload }: SampleRequest, missing: readonly string[]): SampleRequest {
  const more = { headers: { ...headers }, payload: structuredClone(payload) };
  for (const place of missing) {
    const header = /^headers\.(.+)$/.exec(place)?.[1];
    if (header !== undefined) more.headers[header] = "sample";
    else if (!/^(query\.|path$|now$)/.test(place)) put(more.payload, place, example(place));
  }
  return more;
}

/** A value that meets a condition; `undefined`: the place may be absent. */
function valueFor(wanted: unknown): unknown {
  if (typeof wanted !== "object" || wanted === null || Array.isArray(wanted)) return firstOf(wanted);
  const { exists } = wanted as { readonly exists?: unknown };
  return exists === true ? "sample" : undefined;
}

function firstOf(wanted: unknown): unknown {
  return Array.isArray(wanted) ? (wanted as unknown[])[0] : wanted;
}

/** E.g. `title` for `issue.title`. */
function example(place: string): unknown {
  const name = /(\w+)(?:\[\d+\])?$/.exec(place)?.[1] ?? place;
  if (/url$/i.test(name)) return "https://example.com/";
  return /^(number|id|count)$/i.test(name) ? 1 : name;
}

/** Sets the value at `a.b[0].c`. */
function put(root: Record<string, unknown>, place: string, value: unknown): void {
  const steps = place.split(/\.|\[(\d+)\]\.?/).filter((step): step is string => step !== undefined && step !== "");
  if (steps.includes("__proto__")) return;
  let node: Record<string, unknown> = root;
  for (const [index, step] of steps.entries()) {
    const next = steps[index + 1];
    if (next === undefined) {
      node[step] = value;
      return;
    }
    const child = node[step];
    if (typeof child !== "object" || child === null) node[step] = /^\d+$/.test(next) ? [] : {};
    node = node[step] as Record<string, unknown>;
  }
}
