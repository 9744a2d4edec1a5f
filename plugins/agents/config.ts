/** The configuration sections `agents` and `messages`. Spec: http/config-keys.md, as far as this plugin goes. */
import { MAX_ANSWER_CHARS } from "@svc/kit/providers";
import { isTimeZone } from "@svc/kit/time";
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";
import { HeartbeatConfig } from "@svc/sdk/heartbeat";
import { MemorySearch } from "@svc/sdk/memory";
import { THINKING_LEVELS } from "@svc/sdk/models";
import { ToolPolicy } from "@svc/sdk/tools";

const nonEmpty = (description: string) => Type.String({ minLength: 1, description });
const text = (description: string) => Type.Optional(Type.String({ description }));
const thinking = (description: string) => Type.Enum([...THINKING_LEVELS], { description });

/** A model reference (`provider/id`, a bare id or an alias), alone or with others to try when it cannot be used. */
const modelSetting = (description: string) =>
  Type.Union(
    [
      NonEmpty,
      Strict({
        primary: nonEmpty("asked first, unless the request or the session names another"),
        fallbacks: Type.Optional(
          Type.Array(NonEmpty, {
            description: "asked in this order when one fails before its first word; default none",
          }),
        ),
      }),
    ],
    { description },
  );

/** How an agent presents itself. Spec: protocol/methods-agent.md §4. */
const Identity = Strict({
  name: text("name clients show, up to 50 characters; default: that in IDENTITY.md, else that of the agent"),
  theme: text("a few words about its manner; default: those in IDENTITY.md"),
  emoji: text("shown beside the name, up to 16 characters; default: that in IDENTITY.md"),
  avatar: text("image of the workspace, http(s) or data URL, or up to 4 characters; default: emoji, then IDENTITY.md"),
});

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
    model: Type.Optional(modelSetting("model of sub-runs, alone or with fallbacks; default: that of their agent")),
    thinking: Type.Optional(thinking("thinking level of sub-runs; default: thinkingDefault")),
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
    model: Type.Optional(
      modelSetting("`provider/id`, a bare id or an alias, alone or with fallbacks; default: that of `models`"),
    ),
    models: Type.Optional(
      Type.Record(Type.String(), Strict({ alias: Type.Optional(nonEmpty("short name, in any case; default none")) }), {
        description: "the only models that may be used, by `provider/model`, with short names; absent or empty: all",
      }),
    ),
    thinkingDefault: Type.Optional(
      thinking("thinking level where request and session name none; default: the model's own"),
    ),
    verboseDefault: Type.Optional(
      Type.Enum(["off", "on", "full"], {
        description: "full: clients get the results of tools; off, on: only that there was one; default off",
      }),
    ),
    userTimezone: Type.Optional(
      Type.Refine(
        Type.String({
          description:
            "IANA name, e.g. Europe/Berlin; of the times agents are told, cron jobs without `tz`, daily resets, active hours and days of usage; default: the zone of this machine",
        }),
        isTimeZone,
        () => "must be the IANA name of a time zone, e.g. Europe/Berlin",
      ),
    ),
    timeoutSeconds: Type.Integer({
      default: 600,
      minimum: 1,
      description: "seconds a run may take, once it started",
    }),
    maxConcurrent: Type.Integer({
      default: 4,
      minimum: 1,
      description: "runs at a time, all sessions together; and as many again of webhooks",
    }),
    contextTokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "tokens of the window to use; default: the model's own" }),
    ),
    // Choice: a bound on rounds; a model that keeps calling tools would never end.
    maxToolRounds: Type.Integer({
      default: 25,
      minimum: 1,
      description: "times one run may go back to its tools",
    }),
    maxAnswerChars: Type.Integer({
      default: MAX_ANSWER_CHARS,
      minimum: 1_000,
      description:
        "characters of text, thoughts and tool calls after which an answer is cut and the run ends; also of the text of all answers of a run",
    }),
    // Choice: a prompt may also be plain configuration; the workspace files follow it.
    systemPrompt: text("beginning of the prompt; empty: none; default: a short built-in one"),
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
    heartbeat: Type.Optional(HeartbeatConfig),
    subagents: Subagents,
    compaction: Compaction,
    memorySearch: Type.Optional(MemorySearch),
  },
  { default: {} },
);

const Agent = Strict({
  id: nonEmpty("name in session keys; lower case, other characters than letters, digits, `_` and `-` become `-`"),
  default: Type.Optional(
    Type.Boolean({ description: "answers where no agent is named; default: the first marked, else the first listed" }),
  ),
  name: Type.Optional(nonEmpty("shown to people; default none")),
  workspace: Type.Optional(
    nonEmpty(
      "directory of its files; default: `<state>/workspace-<id>`, agents.defaults.workspace for the default agent",
    ),
  ),
  agentDir: Type.Optional(
    nonEmpty("a further directory of its own, moved to the trash when the agent is deleted; default none"),
  ),
  model: Type.Optional(modelSetting("its model, alone or with fallbacks; default: agents.defaults.model")),
  systemPrompt: text("beginning of its prompt; empty: none; default: agents.defaults.systemPrompt"),
  identity: Type.Optional(Identity),
  tools: Type.Optional(ToolPolicy),
  heartbeat: Type.Optional(HeartbeatConfig),
  memorySearch: Type.Optional(MemorySearch),
  subagents: Type.Optional(
    Strict({
      allowAgents: Type.Optional(
        Type.Array(NonEmpty, { description: "agents it may start; `*`: all; default: itself" }),
      ),
      model: Type.Optional(
        modelSetting("model of its sub-runs, alone or with fallbacks; default: agents.defaults.subagents.model"),
      ),
      thinking: Type.Optional(thinking("thinking level of its sub-runs; default: agents.defaults.subagents.thinking")),
    }),
  ),
});

/** Section `agents`. Changes take effect without a restart; a run that has started keeps its agent and models. */
export const AgentsConfig = Strict(
  { defaults: Defaults, list: Type.Optional(Type.Array(Agent)) },
  { reload: "hot", order: 40 },
);

const QUEUE_MODES = ["steer", "followup", "collect", "steer-backlog", "steer+backlog", "queue", "interrupt"] as const;

/** Section `messages`. */
export const MessagesConfig = Strict(
  {
    queue: Strict(
      {
        mode: Type.Optional(
          Type.Enum([...QUEUE_MODES], {
            description: "what a message does while a run is under way; default collect, followup for webchat",
          }),
        ),
        byChannel: Type.Record(Type.String(), Type.Enum([...QUEUE_MODES]), {
          default: {},
          description: "mode by channel, over `mode`",
        }),
        debounceMs: Type.Integer({ default: 1_000, minimum: 0, description: "quiet milliseconds before a follow-up" }),
        debounceMsByChannel: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
          default: {},
          description: "milliseconds by channel, over `debounceMs`; 0: no waiting",
        }),
        cap: Type.Integer({ default: 20, minimum: 1, description: "messages a session holds" }),
        drop: Type.Enum(["old", "new", "summarize"], {
          default: "summarize",
          description: "which message a full queue gives up; summarize: the oldest, of which a line stays",
        }),
      },
      { default: {} },
    ),
  },
  { reload: "hot", order: 80 },
);

export type AgentsConfig = Static<typeof AgentsConfig>;
export type MessagesConfig = Static<typeof MessagesConfig>;
export type ModelSetting = Static<ReturnType<typeof modelSetting>>;
