/** Fields of a `wake`, and the overrides of a transform. Pure. Spec: http/webhooks.md §4, §6.3. */
import { matches, Type } from "@svc/sdk";
import type { WebhookFields } from "@svc/sdk/webhooks";

export const MODES = ["now", "next-heartbeat"] as const;
export type Mode = (typeof MODES)[number];

export const WakeFields = Type.Object({
  text: Type.Optional(Type.String({ external: true, description: "Text of the event. Required." })),
  mode: Type.Optional(Type.Enum([...MODES], { description: "now: wakes the session. Default now." })),
  name: Type.Optional(Type.String({ description: "Label before the text. Default none." })),
});

/** Keys of its mappings. */
export const WakeMapping = Type.Object({
  textTemplate: Type.Optional(Type.String({ description: "Text of the system event. Template." })),
  wakeMode: Type.Optional(
    Type.Enum([...MODES], {
      template: false,
      description: "now: wakes the main session; next-heartbeat: the event waits for its next turn. Default now.",
    }),
  ),
  name: Type.Optional(Type.String({ description: "Label before the text. Template. Default none." })),
});

/** A transform may only make the mode less urgent; it may use either name of the field. Spec: §6.3. */
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
