/** The configuration sections `agents` and `messages`. Spec: http/config-keys.md, as far as this plugin goes. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";
import { THINKING_LEVELS } from "@svc/sdk/services";

/** A model reference (`provider/id`, a bare id or an alias), alone or with others to try when it cannot be used. */
const ModelSetting = Type.Union([
  NonEmpty,
  Strict({ primary: NonEmpty, fallbacks: Type.Optional(Type.Array(NonEmpty)) }),
]);

const text = Type.Optional(Type.String());
const Thinking = Type.Enum([...THINKING_LEVELS]);

/** How an agent presents itself. Spec: protocol/methods-agent.md §4. */
const Identity = Strict({ name: text, theme: text, emoji: text, avatar: text });

const Subagents = Strict(
  {
    maxConcurrent: Type.Integer({ default: 8, minimum: 1, description: "sub-runs at a time, all sessions together" }),
    maxSpawnDepth: Type.Integer({ default: 1, minimum: 1, maximum: 5, description: "1: a sub-run starts no others" }),
    maxChildrenPerAgent: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 20,
      description: "sub-runs a session may have under way",
    }),
    archiveAfterMinutes: Type.Integer({
      default: 60,
      minimum: 1,
      description: "minutes a sub-run's session stays after its end",
    }),
    model: Type.Optional(ModelSetting),
    thinking: Type.Optional(Thinking),
    runTimeoutSeconds: Type.Integer({ default: 0, minimum: 0, description: "seconds; 0: as for other runs" }),
  },
  { default: {} },
);

const Compaction = Strict(
  {
    mode: Type.Enum(["default", "safeguard"], {
      default: "safeguard",
      description: "safeguard: a long history is summed up in parts",
    }),
    reserveTokens: Type.Integer({ default: 16_384, minimum: 0, description: "tokens kept free for the answer" }),
    keepRecentTokens: Type.Integer({
      default: 20_000,
      minimum: 1,
      description: "tokens of the newest messages that are never summed up",
    }),
    maxHistoryShare: Type.Number({
      default: 0.5,
      minimum: 0.1,
      maximum: 0.9,
      description: "largest part of the window one summary may be made of",
    }),
  },
  { default: {} },
);

const Defaults = Strict(
  {
    workspace: Type.Optional(Type.String({ minLength: 1, description: "directory of the default agent's files" })),
    model: Type.Optional(ModelSetting),
    models: Type.Optional(
      Type.Record(Type.String(), Strict({ alias: Type.Optional(NonEmpty) }), {
        description: "the only models that may be used, by `provider/model`, with short names; absent or empty: all",
      }),
    ),
    thinkingDefault: Type.Optional(Thinking),
    verboseDefault: Type.Optional(Type.Enum(["off", "on", "full"])),
    timeoutSeconds: Type.Integer({
      default: 600,
      minimum: 1,
      description: "seconds a run may take, once it started",
    }),
    maxConcurrent: Type.Integer({ default: 4, minimum: 1, description: "runs at a time, all sessions together" }),
    contextTokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "tokens of the window to use; default: the model's own" }),
    ),
    // Choice: a bound on rounds; a model that keeps calling tools would never end.
    maxToolRounds: Type.Integer({
      default: 25,
      minimum: 1,
      description: "times one run may go back to its tools",
    }),
    // Choice: a prompt may also be plain configuration; the workspace files follow it.
    systemPrompt: Type.Optional(Type.String()),
    skipBootstrap: Type.Boolean({
      default: false,
      description: "do not put the usual files into a new workspace",
    }),
    bootstrapMaxChars: Type.Integer({
      default: 20_000,
      minimum: 1,
      description: "characters of one workspace file in the prompt",
    }),
    bootstrapTotalMaxChars: Type.Integer({
      default: 150_000,
      minimum: 1,
      description: "characters of all of them",
    }),
    subagents: Subagents,
    compaction: Compaction,
  },
  { default: {} },
);

const Agent = Strict({
  id: NonEmpty,
  default: Type.Optional(Type.Boolean()),
  name: Type.Optional(NonEmpty),
  workspace: Type.Optional(NonEmpty),
  agentDir: Type.Optional(NonEmpty),
  model: Type.Optional(ModelSetting),
  systemPrompt: Type.Optional(Type.String()),
  identity: Type.Optional(Identity),
  subagents: Type.Optional(
    Strict({
      allowAgents: Type.Optional(
        Type.Array(NonEmpty, { description: "agents it may start; `*`: all; default: itself" }),
      ),
      model: Type.Optional(ModelSetting),
      thinking: Type.Optional(Thinking),
    }),
  ),
});

/** Section `agents`. All of it is taken while the plugin runs: a run that began keeps the agent and models it began with. */
export const AgentsConfig = Strict({ defaults: Defaults, list: Type.Optional(Type.Array(Agent)) }, { reload: "hot" });

const QueueSetting = Type.Enum([
  "steer",
  "followup",
  "collect",
  "steer-backlog",
  "steer+backlog",
  "queue",
  "interrupt",
]);

/** Section `messages`. More keys may stand in it: they belong to plugins that are not here. */
export const MessagesConfig = Type.Object(
  {
    queue: Strict(
      {
        mode: Type.Optional(QueueSetting),
        byChannel: Type.Record(Type.String(), QueueSetting, { default: {} }),
        debounceMs: Type.Integer({ default: 1_000, minimum: 0, description: "quiet milliseconds before a follow-up" }),
        debounceMsByChannel: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { default: {} }),
        cap: Type.Integer({ default: 20, minimum: 1, description: "messages a session holds" }),
        drop: Type.Enum(["old", "new", "summarize"], { default: "summarize" }),
      },
      { default: {} },
    ),
  },
  { additionalProperties: true, reload: "hot" },
);

export type AgentsConfig = Static<typeof AgentsConfig>;
export type MessagesConfig = Static<typeof MessagesConfig>;
export type ModelSetting = Static<typeof ModelSetting>;
