/** Requests of Slack to the gateway: who sent them, and what they contain. Pure. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { RouteRequest } from "@svc/sdk";
import type { DeliveryKind } from "./translate.ts";

/** Seconds by which the time of a request may differ. */
const TOLERANCE_SECONDS = 300;

type Signed = Pick<RouteRequest<unknown>, "headers" | "rawBody">;

/** Why the request is not accepted; `undefined`: Slack signed it. @param now epoch ms */
export function signatureProblem({ headers, rawBody }: Signed, secret: string, now: number): string | undefined {
  const time = headers["x-slack-request-timestamp"];
  const signature = headers["x-slack-signature"];
  if (secret === "") return "the account has no signingSecret";
  if (typeof time !== "string" || !/^[1-9]\d{0,11}$/.test(time)) return "the time of the request is missing";
  if (Math.abs(now / 1_000 - Number(time)) > TOLERANCE_SECONDS)
    return "the request is older than 5 minutes, or a clock is wrong";
  const [, hex] = /^v0=([0-9a-f]{64})$/.exec(typeof signature === "string" ? signature : "") ?? [];
  if (hex === undefined) return "the signature is missing";
  const expected = createHmac("sha256", secret).update(`v0:${time}:`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(hex, "hex")) ? undefined : "the signature is wrong; check signingSecret";
}

/** Content of a request: a delivery, or the question whether the address is right. */
export type Content =
  | { readonly kind: DeliveryKind; readonly body: unknown }
  | { readonly kind: "url_verification"; readonly challenge: string };

/** @returns `undefined` for a body that is neither JSON nor a form of Slack */
export function contentOf({ headers, rawBody }: Signed): Content | undefined {
  const text = Buffer.from(rawBody).toString("utf8");
  try {
    if (!String(headers["content-type"]).startsWith("application/x-www-form-urlencoded")) {
      const body: unknown = JSON.parse(text);
      const { type, challenge } = (body ?? {}) as { readonly type?: unknown; readonly challenge?: unknown }; // unknown values are checked below
      if (type === "url_verification") return { kind: "url_verification", challenge: String(challenge) };
      return { kind: "events_api", body };
    }
    const form = new URLSearchParams(text);
    const payload = form.get("payload");
    if (payload !== null) return { kind: "interactive", body: JSON.parse(payload) };
    return form.has("command") ? { kind: "slash_commands", body: Object.fromEntries(form) } : undefined;
  } catch {
    return undefined;
  }
}
