/** Agents: `agent`, `agent.wait`, `agents.*` and the `agent` event. Spec: protocol/methods-agent.md, protocol/events.md §3. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());

/** Run agents and name them. */
export const agents = defineContract("agents", {
  run: {
    name: "agent",
    summary: "Run an agent: answers `accepted` at once and the outcome under the same id",
    scope: "operator.write",
    params: Strict({
      message: NonEmpty,
      idempotencyKey: NonEmpty,
      agentId: Type.Optional(NonEmpty),
      sessionKey: text,
      sessionId: text,
      to: text,
      replyTo: text,
      replyChannel: text,
      replyAccountId: text,
      channel: text,
      accountId: text,
      threadId: text,
      groupId: text,
      groupChannel: text,
      groupSpace: text,
      thinking: text,
      deliver: Type.Optional(Type.Boolean()),
      bestEffortDeliver: Type.Optional(Type.Boolean()),
      attachments: Type.Optional(Type.Array(Type.Unknown())),
      timeout: Type.Optional(Type.Integer({ minimum: 0, description: "seconds; 0 means no limit" })),
      lane: text,
      extraSystemPrompt: text,
      internalEvents: Type.Optional(Type.Array(Type.Unknown())),
      inputProvenance: Type.Optional(Type.Unknown()),
      label: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      spawnedBy: text,
    }),
    result: Type.Object({
      runId: Type.String(),
      status: Type.String(),
      acceptedAt: Type.Optional(Type.Integer({ description: "epoch ms" })),
      summary: Type.Optional(Type.String()),
      result: Type.Optional(Type.Unknown()),
    }),
  },
  wait: {
    name: "agent.wait",
    summary: "Wait for a run to end",
    scope: "operator.write",
    params: Strict({
      runId: NonEmpty,
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0, description: "milliseconds; default 30000" })),
    }),
    result: Type.Object({
      runId: Type.String(),
      status: Type.Union([Type.Literal("ok"), Type.Literal("error"), Type.Literal("timeout")]),
      startedAt: Type.Optional(Type.Integer()),
      endedAt: Type.Optional(Type.Integer()),
      error: Type.Optional(Type.String()),
    }),
  },
  list: {
    summary: "The configured agents, the default one first",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      defaultId: Type.String(),
      mainKey: Type.String(),
      scope: Type.Union([Type.Literal("per-sender"), Type.Literal("global")]),
      agents: Type.Array(
        Type.Object({ id: Type.String(), name: Type.Optional(Type.String()), identity: Type.Optional(Type.Unknown()) }),
      ),
    }),
  },
});

/** Everything a run does. The `tool` stream goes only to connections with the cap `tool-events` that take part in the run. */
export const agentEvent = defineEvent({
  name: "agent",
  summary: "A run's steps: lifecycle, assistant text, tools",
  payload: Type.Object({
    runId: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    stream: Type.String(),
    ts: Type.Integer({ description: "epoch ms" }),
    data: Type.Object({}),
    sessionKey: Type.Optional(Type.String()),
  }),
});
