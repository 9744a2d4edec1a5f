/** Fields of a request, stored params, and the overrides of a transform. Pure. Spec: http/webhooks.md §5.1, §6.3. */
import { matches, type Static, Strict, Type } from "@svc/sdk";
import { THINKING_LEVELS } from "@svc/sdk/models";
import type { WebhookFields } from "@svc/sdk/webhooks";

export const WAKE_MODES = ["now", "next-heartbeat"] as const;

const text = (description: string, more: object = {}) => Type.Optional(Type.String({ description, ...more }));

export const AgentFields = Type.Object({
  message: text("Message for the agent. Required.", { external: true }),
  name: text("Label before the summary. Default Hook."),
  agentId: text("Agent that runs. Default, and for an unknown id: the default agent."),
  sessionKey: text("Session of the run, within hooks.allowRequestSessionKey and hooks.allowedSessionKeyPrefixes."),
  wakeMode: Type.Optional(
    Type.Enum([...WAKE_MODES], { description: "now: wakes the main session for the summary. Default now." }),
  ),
  deliver: Type.Optional(Type.Boolean({ description: "Send the reply to a channel. Default true." })),
  channel: text("Channel of the reply: last, or a channel. Default last."),
  to: text("Recipient. Default: the last one."),
  model: text("Model to use. Default: the agent's."),
  thinking: text("Thinking level. Default: the agent's."),
  timeoutSeconds: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: "Timeout of the run in seconds. Default: agents.defaults.timeoutSeconds.",
    }),
  ),
});

const template = (description: string, more: object = {}) => text(`${description} Template.`, more);

/** Keys of its mappings. */
export const AgentMapping = Type.Object({
  messageTemplate: template("Message for the agent."),
  name: template("Label before summaries. Default Hook."),
  agentId: text("Id of the agent that runs; an unknown id means the default agent.", { template: false }),
  sessionKey: template("Session of the run; see allowedSessionKeyPrefixes.", { sensitive: true }),
  wakeMode: Type.Optional(
    Type.Enum([...WAKE_MODES], {
      template: false,
      description:
        "now: wakes the main session for the summary; next-heartbeat: the summary waits for its next turn. Default now.",
    }),
  ),
  deliver: Type.Optional(Type.Boolean({ description: "Send the reply to a channel. Default true." })),
  channel: text("Channel of the reply: last, or a channel. Default last.", { template: false }),
  to: template("Recipient. Default: the last one."),
  model: template("Model to use."),
  thinking: template("Thinking level."),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, description: "Timeout of the run in seconds." })),
});

/** Stored params; all decisions have been made. */
export const AgentParams = Strict({
  message: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  agentId: Type.String({ minLength: 1 }),
  /** Canonical. */
  sessionKey: Type.String({ minLength: 1 }),
  wakeMode: Type.Enum([...WAKE_MODES]),
  deliver: Type.Boolean(),
  channel: Type.String({ minLength: 1 }),
  to: Type.Optional(Type.String()),
  model: Type.Optional(Type.String()),
  thinking: Type.Optional(Type.Enum([...THINKING_LEVELS])),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type AgentParams = Static<typeof AgentParams>;

/** A transform may only make the wake mode less urgent; it may use either name of the field. Spec: §6.3. */
export function mergeAgent(fields: WebhookFields, override: WebhookFields): WebhookFields {
  const { mode, wakeMode, ...rest } = override;
  const fits = Object.entries(AgentFields.properties).filter(
    ([name, schema]) => rest[name] !== undefined && matches(schema, rest[name]),
  );
  const waits = mode === "next-heartbeat" || wakeMode === "next-heartbeat";
  return {
    ...fields,
    ...Object.fromEntries(fits.map(([name]) => [name, rest[name]])),
    ...(waits ? { wakeMode: "next-heartbeat" } : {}),
  };
}
