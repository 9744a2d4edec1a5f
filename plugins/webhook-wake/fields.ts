/** What a `wake` is made of, and what a transform may change of it. Pure. Spec: http/webhooks.md §4, §6.3. */
import { matches, Type } from "@svc/sdk";
import type { WebhookFields } from "@svc/sdk/webhooks";

export const MODES = ["now", "next-heartbeat"] as const;
export type Mode = (typeof MODES)[number];

export const WakeFields = Type.Object({
  text: Type.Optional(Type.String({ external: true, description: "What happened. Required." })),
  mode: Type.Optional(Type.Enum([...MODES], { description: "now: the session is woken for it. Default now." })),
  name: Type.Optional(Type.String({ description: "A few words to stand before the text. Default none." })),
});

/** What its mappings may have. */
export const WakeMapping = Type.Object({
  textTemplate: Type.Optional(Type.String({ description: "Text of the system event. Template." })),
  wakeMode: Type.Optional(
    Type.Enum([...MODES], {
      template: false,
      description: "now: the main session is woken for it; next-heartbeat: it hears of it then. Default now.",
    }),
  ),
  name: Type.Optional(Type.String({ description: "A few words to stand before the text. Template. Default none." })),
});

/** A mode may only be made less urgent, and goes by both of its names. Spec: §6.3. */
export function mergeWake(fields: WebhookFields, override: WebhookFields): WebhookFields {
  const { mode, wakeMode, ...rest } = override;
  const fits = Object.entries(WakeFields.properties).filter(
    ([name, schema]) => rest[name] !== undefined && matches(schema, rest[name]),
  );
  const waits = mode === "next-heartbeat" || wakeMode === "next-heartbeat";
  return {
    ...fields,
    ...Object.fromEntries(fits.map(([name]) => [name, rest[name]])),
    ...(waits ? { mode: "next-heartbeat" } : {}),
  };
}
