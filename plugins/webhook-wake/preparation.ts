/** Validates fields and turns them into stored params. Pure. Spec: http/webhooks.md §4, §6.2. */
import { invalidRequest, type Static, Strict, Type } from "@svc/sdk";
import { externalLine } from "@svc/sdk/external-content";
import type { WebhookActionContext, WebhookFields } from "@svc/sdk/webhooks";
import { type Mode, MODES } from "./fields.ts";

/** Stored params of a `wake`. */
export const WakeParams = Strict({
  text: Type.String({ minLength: 1 }),
  mode: Type.Enum([...MODES]),
  name: Type.Optional(Type.String()),
  /** Key of the session that gets the event. */
  sessionKey: Type.String({ minLength: 1 }),
});
export type WakeParams = Static<typeof WakeParams>;

/** Choice: most characters of the label. */
const MAX_NAME_CHARS = 80;

/** @throws GatewayError `INVALID_REQUEST` */
export function readWake(
  { text, mode, name }: WebhookFields,
  source: WebhookActionContext["source"],
  sessionKey: string,
): WakeParams {
  const words = typeof text === "string" ? text.trim() : "";
  if (words === "") invalidRequest(source === "request" ? "text required" : "hook mapping requires text");
  const label = typeof name === "string" ? externalLine(name, MAX_NAME_CHARS) : ""; // the label is outside the markers of the text
  return { text: words, mode: modeOf(mode, source), ...(label === "" ? {} : { name: label }), sessionKey };
}

/** Choice: an unknown mode is refused, although in the facts it means `now`. Spec: spec/README.md. */
function modeOf(value: unknown, source: WebhookActionContext["source"]): Mode {
  if (value === undefined || value === null) return "now";
  const word = typeof value === "string" ? value.trim() : value;
  if (word === "" && source === "mapping") return "now"; // a template with an empty result
  const mode = MODES.find((known) => known === word);
  return mode ?? invalidRequest(`mode must be ${MODES.join(" or ")}${source === "mapping" ? " (wakeMode)" : ""}`);
}
