/** What a run is asked for with, what is stored of it, and what a transform may change. Pure. Spec: http/webhooks.md §5.1, §6.3. */
import { matches, type Static, Strict, Type } from "@svc/sdk";
import { THINKING_LEVELS } from "@svc/sdk/models";
import type { WebhookFields } from "@svc/sdk/webhooks";

export const WAKE_MODES = ["now", "next-heartbeat"] as const;

const text = (description: string, more: object = {}) => Type.Optional(Type.String({ description, ...more }));

export const AgentFields = Type.Object({
  message: text("What the agent is asked. Required.", { external: true }),
  name: text("Stands before the summary. Default Hook."),
  agentId: text("Agent that runs. Default, and for an id nobody knows: the default agent."),
  sessionKey: text("Session to run in; hooks.allowRequestSessionKey and hooks.allowedSessionKeyPrefixes decide."),
  wakeMode: Type.Optional(
    Type.Enum([...WAKE_MODES], { description: "now: the main session is woken for the summary. Default now." }),
  ),
  deliver: Type.Optional(Type.Boolean({ description: "Send the reply to a channel. Default true." })),
  channel: text("last, or a channel. Default last."),
  to: text("Recipient. Default: the last one."),
  model: text("Model to use. Default: the agent's."),
  thinking: text("How hard to think. Default: the agent's."),
  timeoutSeconds: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: "Seconds the run may take. Default: agents.defaults.timeoutSeconds.",
    }),
  ),
});

const template = (description: string, more: object = {}) => text(`${description} Template.`, more);

/** What its mappings may have. */
export const AgentMapping = Type.Object({
  messageTemplate: template("What a run is asked."),
  name: template("Shown before summaries. Default Hook."),
  agentId: text("Who runs it, by id; an unknown one means the default.", { template: false }),
  sessionKey: template("Session to run in; see allowedSessionKeyPrefixes.", { sensitive: true }),
  wakeMode: Type.Optional(
    Type.Enum([...WAKE_MODES], {
      template: false,
      description: "now: the main session is woken for the summary; next-heartbeat: it hears of it then. Default now.",
    }),
  ),
  deliver: Type.Optional(Type.Boolean({ description: "Send the reply to a channel. Default true." })),
  channel: text("Where the reply goes: last, or a channel. Default last.", { template: false }),
  to: template("Recipient. Default: the last one."),
  model: template("Model to use."),
  thinking: template("How hard to think."),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, description: "Seconds the run may take." })),
});

/** What is stored: nothing is left to be decided later. */
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

/** The wake mode may only be made less urgent, and goes by both of its names. Spec: §6.3. */
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
