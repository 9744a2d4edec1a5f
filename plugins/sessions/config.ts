/** The configuration sections `session` and `bindings`. Spec: http/config.md §7.4, §7.6; http/sessions-routing.md §2-5, §8. */
import { DURATION_PATTERN, SIZE_PATTERN } from "@svc/kit/time";
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";

/** Takes effect without a reload: every use reads the current value. */
const HOT = { reload: "hot" };

const Duration = Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: DURATION_PATTERN })]);
const Size = Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: SIZE_PATTERN })]);

/** When a conversation expires. The defaults depend on the other levels, see `reset-policy.ts`. */
export const ResetSetting = Strict({
  mode: Type.Optional(
    Type.Enum(["daily", "idle"], {
      description:
        "daily: expires at `atHour`; idle: after `idleMinutes`; default daily, for a type the mode of `reset`",
    }),
  ),
  atHour: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 23, description: "hour in the zone agents.defaults.userTimezone; default 4" }),
  ),
  idleMinutes: Type.Optional(Type.Integer({ minimum: 1, description: "minutes without a message" })),
});
export type ResetSetting = Static<typeof ResetSetting>;

const ResetByType = Strict({
  direct: Type.Optional(ResetSetting),
  dm: Type.Optional(ResetSetting),
  group: Type.Optional(ResetSetting),
  thread: Type.Optional(ResetSetting),
});

const policyAction = (description: string) => Type.Enum(["allow", "deny"], { description });
const nonEmpty = (description: string) => Type.String({ minLength: 1, description });

const SendPolicySetting = Strict({
  default: Type.Optional(policyAction("whether the gateway may speak where no rule matches; default allow")),
  rules: Type.Optional(
    Type.Array(
      Strict({
        action: policyAction("whether it may speak where the rule matches; a matching deny always wins"),
        match: Type.Optional(
          Strict({
            channel: Type.Optional(nonEmpty("channel of the session, in any case; default: every channel")),
            chatType: Type.Optional(
              Type.Enum(["direct", "dm", "group", "channel"], {
                description: "chat type of the session; dm: old name of direct; default: every type",
              }),
            ),
            keyPrefix: Type.Optional(
              Type.String({ minLength: 1, description: "prefix of the key, with or without its agent:<id>:" }),
            ),
            rawKeyPrefix: Type.Optional(Type.String({ minLength: 1, description: "prefix of the whole key" })),
          }),
        ),
      }),
      { description: "exceptions from the default" },
    ),
  ),
});
export type SendPolicySetting = Static<typeof SendPolicySetting>;

/**
 * Choice: `enforce` is the default and `maxEntries` has none (Spec: `warn`, 500), so that an unattended gateway does not grow
 * forever, and no session used within `pruneAfter` is lost.
 */
const Maintenance = Strict(
  {
    mode: Type.Enum(["warn", "enforce"], {
      default: "enforce",
      description:
        "enforce: deletes what exceeds the limits; warn: deletes nothing, and logs what enforce would delete",
    }),
    pruneAfter: Type.Optional(
      Type.Union([Duration], {
        description: "sessions unused for longer are deleted; days without a unit; default 30d",
      }),
    ),
    pruneDays: Type.Optional(Type.Integer({ minimum: 1, description: "old name of pruneAfter" })),
    maxEntries: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "sessions kept; the longest unused are deleted first; absent: no limit",
      }),
    ),
    resetArchiveRetention: Type.Optional(
      Type.Union([Duration, Type.Literal(false)], {
        description: "how long retired transcripts stay; false: forever; default: as pruneAfter",
      }),
    ),
    maxDiskBytes: Type.Optional(Type.Union([Size], { description: "bytes of all transcripts; absent: no limit" })),
    highWaterBytes: Type.Optional(
      Type.Union([Size], { description: "bytes to reduce to when over the limit; default 80 % of the limit" }),
    ),
    rotateBytes: Type.Optional(
      Type.Union([Size], { description: "without effect: sessions are rows of a database, not a file that grows" }),
    ),
  },
  { default: {}, ...HOT },
);

/** Section `session`. Changes of `scope` and `mainKey` reload the plugin; all others take effect at once. */
export const SessionConfig = Strict(
  {
    scope: Type.Enum(["per-sender", "global"], {
      default: "per-sender",
      description: "global: every main session is the one session `global`",
    }),
    mainKey: Type.String({
      default: "main",
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
      description: "Name of the main session in `agent:<id>:<mainKey>`; compared lower-case",
    }),
    dmScope: Type.Enum(["main", "per-peer", "per-channel-peer", "per-account-channel-peer"], {
      default: "main",
      description:
        "which direct messages share a session: all of an agent, or those of one peer (and channel, and account)",
      ...HOT,
    }),
    identityLinks: Type.Optional(
      Type.Record(NonEmpty, Type.Array(NonEmpty), {
        description: "one person on several channels: name -> peer ids, each bare or `<channel>:<peer>`",
        ...HOT,
      }),
    ),
    reset: Type.Optional(Strict(ResetSetting.properties, HOT)),
    resetByType: Type.Optional(Strict(ResetByType.properties, HOT)),
    resetByChannel: Type.Optional(Type.Record(NonEmpty, ResetSetting, HOT)),
    idleMinutes: Type.Optional(Type.Integer({ minimum: 1, description: "old name of reset.idleMinutes", ...HOT })),
    sendPolicy: Type.Optional(Strict(SendPolicySetting.properties, HOT)),
    maintenance: Maintenance,
  },
  { order: 90 },
);
export type SessionConfig = Static<typeof SessionConfig>;
export type MaintenanceConfig = SessionConfig["maintenance"];

const BindingPeer = Strict({
  kind: Type.Enum(["direct", "group", "channel", "dm"], {
    description: "group and channel mean the same; dm: old name of direct",
  }),
  id: Type.String({ description: "an empty id never matches" }),
});

const Binding = Strict({
  agentId: nonEmpty("agent that answers; if it is not configured, the default agent answers"),
  comment: Type.Optional(Type.String({ description: "for people, without effect" })),
  match: Strict({
    channel: nonEmpty("channel of the message, in any case"),
    accountId: Type.Optional(Type.String({ description: "default: the account `default`; `*`: all" })),
    peer: Type.Optional(BindingPeer),
    guildId: Type.Optional(nonEmpty("guild of the message, in any case; default: any or none")),
    teamId: Type.Optional(nonEmpty("team of the message, in any case; default: any or none")),
    roles: Type.Optional(Type.Array(NonEmpty, { description: "roles of the sender; one match is enough" })),
  }),
});
export type Binding = Static<typeof Binding>;

/** Section `bindings`: which agent answers where. */
export const Bindings = Type.Array(Binding, {
  default: [],
  order: 55,
  description: "which agent answers where; default: the default agent",
  ...HOT,
});

/** How far the session tools of an agent reach. Spec: http/tools-invoke.md §8. */
export const VISIBILITIES = ["self", "tree", "agent", "all"] as const;

/** Section `tools.sessions`. */
export const SessionTools = Strict(
  {
    visibility: Type.Enum([...VISIBILITIES], {
      default: "tree",
      description:
        "sessions that tools reach: self: their own; tree: also its descendants; agent: also all of its agent; all: every session",
    }),
  },
  { default: {}, ...HOT },
);

/** Section `tools.agentToAgent`. Choice: an empty list allows no agent, so that `enabled` alone has no effect. */
export const AgentToAgent = Strict(
  {
    enabled: Type.Boolean({
      default: false,
      description: "whether session tools reach sessions of another agent, within tools.sessions.visibility",
    }),
    allow: Type.Array(NonEmpty, {
      default: [],
      description: "ids of agents that reach each other; `*`: all; both must be listed; default: none",
    }),
  },
  { default: {}, ...HOT },
);

/** Which sessions the tools of a session reach. */
export interface Reach {
  readonly visibility: (typeof VISIBILITIES)[number];
  readonly agentToAgent: {
    readonly enabled: boolean;
    /** Agent ids, `*` for all; empty: no agent. */
    readonly allow: readonly string[];
  };
}

/** The current sections. */
export interface Settings {
  readonly session: SessionConfig;
  readonly bindings: readonly Binding[];
  readonly reach: Reach;
}
