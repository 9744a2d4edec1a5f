/** The configuration sections `agents` and `messages.queue`. Spec: http/config-keys.md, the keys of this plugin. */
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

/** A model reference (`provider/id`, a bare id or an alias), alone or with fallbacks. */
const modelSetting = (description: string) =>
  Type.Union(
    [
      NonEmpty,
      Strict({
        primary: nonEmpty("model used unless the request or the session names another"),
        fallbacks: Type.Optional(
          Type.Array(NonEmpty, {
            description: "tried in this order when a model fails before it produces output; default none",
          }),
        ),
      }),
    ],
    { description },
  );

/** How an agent presents itself. Spec: protocol/methods-agent.md §4. */
const Identity = Strict({
  name: text("display name, up to 50 characters; default: from IDENTITY.md, else the agent's name"),
  theme: text("a few words about its manner; default: from IDENTITY.md"),
  emoji: text("shown next to the name, up to 16 characters; default: from IDENTITY.md"),
  avatar: text("image of the workspace, http(s) or data URL, or up to 4 characters; default: emoji, then IDENTITY.md"),
});

const Subagents = Strict(
  {
    maxConcurrent: Type.Integer({ default: 8, minimum: 1, description: "concurrent sub-runs of all sessions" }),
    maxSpawnDepth: Type.Integer({
      default: 1,
      minimum: 1,
      maximum: 5,
      description: "nesting depth of sub-runs; 1: a sub-run cannot start others",
    }),
    maxChildrenPerAgent: Type.Integer({
      default: 5,
      minimum: 1,
      maximum: 20,
      description: "concurrent sub-runs of one session",
    }),
    archiveAfterMinutes: Type.Integer({
      default: 60,
      minimum: 1,
      description: "minutes until the session of an ended sub-run is archived",
    }),
    model: Type.Optional(modelSetting("model of sub-runs, alone or with fallbacks; default: their agent's model")),
    thinking: Type.Optional(thinking("thinking level of sub-runs; default: thinkingDefault")),
    runTimeoutSeconds: Type.Integer({
      default: 0,
      minimum: 0,
      description: "timeout in seconds; 0: as for other runs",
    }),
  },
  { default: {} },
);

const Compaction = Strict(
  {
    mode: Type.Enum(["default", "safeguard"], {
      default: "safeguard",
      description: "safeguard: summarize a long history in parts; default: all at once",
    }),
    reserveTokens: Type.Integer({ default: 16_384, minimum: 0, description: "tokens reserved for the answer" }),
    keepRecentTokens: Type.Integer({
      default: 20_000,
      minimum: 1,
      description: "tokens of the newest messages that are never summarized",
    }),
    maxHistoryShare: Type.Number({
      default: 0.5,
      minimum: 0.1,
      maximum: 0.9,
      description: "with safeguard: largest share of the window that one part may fill",
    }),
  },
  { default: {} },
);

const Defaults = Strict(
  {
    workspace: Type.Optional(Type.String({ minLength: 1, description: "directory of the default agent's files" })),
    model: Type.Optional(
      modelSetting("`provider/id`, a bare id or an alias, alone or with fallbacks; default: from the section `models`"),
    ),
    imageModel: Type.Optional(
      modelSetting(
        "model that accepts pictures, alone or with fallbacks: for the tool image, and for pictures in messages if the agent's model accepts none; default: none for messages, for the tool the first model that accepts them",
      ),
    ),
    pdfModel: Type.Optional(modelSetting("model of the tool pdf, alone or with fallbacks; default: imageModel")),
    pdfMaxBytesMb: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, description: "megabytes of one PDF; default: tools.media.maxBytes" }),
    ),
    pdfMaxPages: Type.Optional(
      Type.Integer({ minimum: 1, description: "pages of all PDFs of one call; default: tools.media.pdf.maxPages" }),
    ),
    mediaMaxMb: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: "megabytes of one file received by a channel that does not set its own mediaMaxMb; default 20",
      }),
    ),
    models: Type.Optional(
      Type.Record(Type.String(), Strict({ alias: Type.Optional(nonEmpty("short name, in any case; default none")) }), {
        description: "allowlist of models by `provider/model`, with optional aliases; absent or empty: all",
      }),
    ),
    thinkingDefault: Type.Optional(
      thinking("thinking level when neither request nor session sets one; default: the model's own"),
    ),
    verboseDefault: Type.Optional(
      Type.Enum(["off", "on", "full"], {
        description: "full: clients get tool results; off, on: only the fact that there was one; default off",
      }),
    ),
    userTimezone: Type.Optional(
      Type.Refine(
        Type.String({
          description:
            "IANA name, e.g. Europe/Berlin; used for times shown to agents, cron jobs without `tz`, daily resets, active hours and days of usage; default: the zone of this machine",
        }),
        isTimeZone,
        () => "must be the IANA name of a time zone, e.g. Europe/Berlin",
      ),
    ),
    timeoutSeconds: Type.Integer({
      default: 600,
      minimum: 1,
      description: "timeout of a run in seconds, from its start",
    }),
    maxConcurrent: Type.Integer({
      default: 4,
      minimum: 1,
      description: "concurrent runs of all sessions; webhook runs have a separate limit of the same size",
    }),
    contextTokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "tokens of the context window to use; default: all" }),
    ),
    // Choice: rounds are limited, since a model could call tools forever.
    maxToolRounds: Type.Integer({
      default: 25,
      minimum: 1,
      description: "rounds of tool calls in one run",
    }),
    maxAnswerChars: Type.Integer({
      default: MAX_ANSWER_CHARS,
      minimum: 1_000,
      description:
        "characters of text, thinking and tool calls after which an answer is cut off and the run ends; also the limit for all text of one run",
    }),
    // Choice: the prompt can also be set in the configuration; the workspace files follow it.
    systemPrompt: text("beginning of the system prompt; empty: none; default: a short built-in text"),
    skipBootstrap: Type.Boolean({
      default: false,
      description: "create new workspaces without the usual files",
    }),
    bootstrapMaxChars: Type.Integer({
      default: 20_000,
      minimum: 1,
      description: "largest number of characters of one workspace file in the prompt",
    }),
    bootstrapTotalMaxChars: Type.Integer({
      default: 150_000,
      minimum: 1,
      description: "largest number of characters of all workspace files in the prompt",
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
    Type.Boolean({
      description: "used when no agent is named; default: the first one marked, else the first one listed",
    }),
  ),
  name: Type.Optional(nonEmpty("display name; default none")),
  workspace: Type.Optional(
    nonEmpty(
      "directory of its files; default: `<state>/workspace-<id>`, agents.defaults.workspace for the default agent",
    ),
  ),
  agentDir: Type.Optional(
    nonEmpty("additional directory of the agent, moved to the trash when the agent is deleted; default none"),
  ),
  model: Type.Optional(modelSetting("its model, alone or with fallbacks; default: agents.defaults.model")),
  systemPrompt: text("beginning of its system prompt; empty: none; default: agents.defaults.systemPrompt"),
  identity: Type.Optional(Identity),
  tools: Type.Optional(ToolPolicy),
  skills: Type.Optional(
    Type.Array(NonEmpty, { description: "names of the skills it may use; empty: none; absent: all" }),
  ),
  heartbeat: Type.Optional(HeartbeatConfig),
  memorySearch: Type.Optional(MemorySearch),
  subagents: Type.Optional(
    Strict({
      allowAgents: Type.Optional(
        Type.Array(NonEmpty, { description: "agents it may start as sub-agents; `*`: all; default: itself" }),
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
  {
    defaults: Defaults,
    list: Type.Optional(Type.Array(Agent, { description: "the agents; default: one with the id main" })),
  },
  { reload: "hot", order: 40 },
);

const QUEUE_MODES = ["steer", "followup", "collect", "steer-backlog", "steer+backlog", "queue", "interrupt"] as const;

/** Section `messages.queue`. */
export const QueueConfig = Strict(
  {
    mode: Type.Optional(
      Type.Enum([...QUEUE_MODES], {
        description: "how a message is handled while a run is in progress; default collect, for webchat followup",
      }),
    ),
    byChannel: Type.Record(Type.String(), Type.Enum([...QUEUE_MODES]), {
      default: {},
      description: "mode by channel; overrides `mode`",
    }),
    debounceMs: Type.Integer({
      default: 1_000,
      minimum: 0,
      description: "milliseconds without a new message before a follow-up starts",
    }),
    debounceMsByChannel: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      default: {},
      description: "milliseconds by channel; overrides `debounceMs`; 0: no delay",
    }),
    cap: Type.Integer({
      default: 20,
      minimum: 1,
      description: "maximum number of messages in the queue of a session",
    }),
    drop: Type.Enum(["old", "new", "summarize"], {
      default: "summarize",
      description:
        "which message a full queue drops: the oldest, the new one, or (summarize) the oldest except for one line",
    }),
  },
  { reload: "hot", order: 80 },
);
export type AgentsConfig = Static<typeof AgentsConfig>;
export type QueueConfig = Static<typeof QueueConfig>;
export type ModelSetting = Static<ReturnType<typeof modelSetting>>;
