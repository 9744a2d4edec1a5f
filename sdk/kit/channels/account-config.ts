/**
 * The configuration section `channels.<id>`: settings that all channels share, and accounts that override them. Pure.
 * Spec: http/config.md §7.8 `channels.<id>` common.
 */
import { misconfigured, type Static, Strict, type TObject, type TProperties, Type } from "@svc/sdk";
import type { ChannelAccess, ChannelAccount } from "@svc/sdk/channels";

/** Id of the account that the keys beside `accounts` describe. */
export const DEFAULT_ACCOUNT = "default";

const ids = (description: string) => Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Names as in `ToolRules`; the plugin `tools` checks them. */
const ToolNames = Strict({
  allow: ids("the only tools of this group; default: all that the agent has"),
  alsoAllow: ids("tools in addition to `allow`"),
  deny: ids("tools that this group does not have"),
});

const Group = Strict({
  requireMention: flag("only messages that mention the agent reach it; default: the setting of the account"),
  tools: Type.Optional(ToolNames),
  toolsBySender: Type.Optional(
    Type.Record(Type.String(), ToolNames, {
      description: "tool rules by sender id (`id:<id>` or `<id>`), `*`: everyone else; precede `tools`",
    }),
  ),
});

/** Settings that every channel and account has. */
export const SHARED_FIELDS = {
  enabled: flag("false: listed but not run; default true"),
  name: Type.Optional(Type.String({ minLength: 1, description: "name of the account, for people" })),
  dmPolicy: Type.Optional(
    Type.Enum(["pairing", "allowlist", "open", "disabled"], {
      description:
        "direct messages of unlisted people: pairing sends them a code for `svc channels pairing approve`; allowlist refuses them; open admits everyone and needs `*` in allowFrom; disabled refuses all direct messages; default pairing",
    }),
  ),
  allowFrom: ids("ids of people whose direct messages are accepted; `*`: everyone"),
  groupPolicy: Type.Optional(
    Type.Enum(["allowlist", "open", "disabled"], {
      description: "groups in which the agent listens: those in `groups`, all, or none; default allowlist",
    }),
  ),
  groupAllowFrom: ids("ids of people whose messages in groups are read; default: everyone in the group"),
  groups: Type.Optional(
    Type.Record(Type.String({ minLength: 1 }), Group, {
      description: "settings by group id; `*`: all groups. A listed group is a permitted one",
    }),
  ),
  requireMention: flag("in groups, only messages that mention the agent reach it; default true"),
  mentionPatterns: ids("regular expressions, case-insensitive; a match in a group counts as a mention"),
  historyLimit: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 500,
      description: "messages of a group without a mention that the agent sees with the next mention; default 50",
    }),
  ),
  mediaMaxMb: Type.Optional(
    Type.Number({ minimum: 0, maximum: 100, description: "maximum size of a received file; default 20" }),
  ),
  streaming: Type.Optional(
    Type.Enum(["draft", "block", "off"], {
      description:
        "while an answer is written: draft edits one message, block sends finished paragraphs, off sends the whole answer; default draft where the network can edit, otherwise off",
    }),
  ),
  replyToMode: Type.Optional(
    Type.Enum(["off", "first", "all"], {
      description: "which messages of an answer quote the question; default first in groups, off in direct chats",
    }),
  ),
  ackReaction: Type.Optional(
    Type.String({ minLength: 1, maxLength: 16, description: "emoji that marks a message while the agent works on it" }),
  ),
} as const;

/** Pattern of account ids in the configuration. */
export const ACCOUNT_ID = "^[a-z0-9][a-z0-9_-]{0,63}$";

/**
 * Schema of a section `channels.<id>`.
 * @param fields settings of the network; all optional, because an account may have them instead
 */
export function channelConfig<F extends TProperties>(fields: F) {
  const own = { ...SHARED_FIELDS, ...fields };
  return Strict({
    ...own,
    defaultAccount: Type.Optional(
      Type.String({
        pattern: ACCOUNT_ID,
        description: "account used when a request names none; default: `default`, otherwise the first that runs",
      }),
    ),
    accounts: Type.Optional(
      Type.Record(Type.String({ pattern: ACCOUNT_ID }), Strict(own), {
        description: "accounts by id; each overrides the keys beside `accounts`",
      }),
    ),
  });
}

/** Settings of one account: those of the section, overridden by its own. */
export type AccountConfig<F extends TProperties> = Static<TObject<typeof SHARED_FIELDS & F>>;

/** What a channel reads from the configuration of one account. */
export interface ReadAccount<Settings> {
  /** Whether all required settings are there. */
  readonly isConfigured: boolean;
  readonly isShared?: ChannelAccount["isShared"];
  readonly settings: Settings;
  /** Default: the channel itself. */
  readonly transport?: ChannelAccount["transport"];
}

/**
 * The accounts of a section. Without `accounts`, the section describes the account `default`; with `accounts`, it does so
 * only if it is configured itself.
 * @param read @throws SetupOutcome for invalid settings; `path` leads to the account's keys, e.g. `/accounts/work`
 * @throws SetupOutcome `dmPolicy: "open"` without `*` in `allowFrom`; an invalid mention pattern
 */
export function accountsOf<F extends TProperties, Settings>(
  section: AccountConfig<F> & {
    readonly accounts?: Readonly<Record<string, AccountConfig<F>>> | undefined;
    readonly defaultAccount?: string | undefined;
  },
  read: (config: AccountConfig<F>, id: string, path: string) => ReadAccount<Settings>,
): ChannelAccount<Settings>[] {
  const { accounts = {}, defaultAccount, name: ownName, ...shared } = section as Section; // the generic fields are only passed on
  const account = (own: Shared, id: string, path: string): ChannelAccount<Settings> => {
    const { isConfigured, isShared = false, settings, transport } = read(own as AccountConfig<F>, id, path);
    const { name } = own;
    checkAccess(own, path);
    return {
      id,
      ...(name === undefined ? {} : { name }),
      ...(id === defaultAccount ? { isDefault: true } : {}),
      enabled: own.enabled !== false,
      configured: isConfigured,
      ...(isShared ? { isShared } : {}),
      ...accessOf(own),
      ...(transport === undefined ? {} : { transport }),
      settings,
    };
  };
  const named = Object.entries(accounts).map(([id, own]) => account({ ...shared, ...own }, id, `/accounts/${id}`));
  if (Object.hasOwn(accounts, DEFAULT_ACCOUNT)) return named;
  const own = account({ ...shared, ...(ownName === undefined ? {} : { name: ownName }) }, DEFAULT_ACCOUNT, "");
  return named.length > 0 && own.configured === false ? named : [own, ...named];
}

type Shared = Static<TObject<typeof SHARED_FIELDS>>;
type Section = Shared & { readonly accounts?: Readonly<Record<string, Shared>>; readonly defaultAccount?: string };

function checkAccess({ dmPolicy, allowFrom = [], mentionPatterns = [], groups = {} }: Shared, path: string): void {
  if (dmPolicy === "open" && !allowFrom.some((id) => id.trim() === "*"))
    misconfigured(`${path}/dmPolicy`, `"open" lets everyone write; confirm it with allowFrom: ["*"]`);
  for (const [index, pattern] of mentionPatterns.entries()) {
    if (!isPattern(pattern))
      misconfigured(`${path}/mentionPatterns/${index}`, `"${pattern}" is not a regular expression`);
  }
  for (const [id, { toolsBySender = {} }] of Object.entries(groups)) {
    const key = Object.keys(toolsBySender).find((sender) => UNRELIABLE.test(sender));
    if (key !== undefined)
      misconfigured(`${path}/groups/${id}/toolsBySender/${key}`, "senders are known by their id only: id:<sender id>");
  }
}

/** Kinds of sender keys that other people can take over, or that only some networks have. */
const UNRELIABLE = /^(?:e164|username|name):/;

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "iu").source !== "";
  } catch {
    return false;
  }
}

function byId<T>(bySender: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(bySender).map(([sender, rules]) => [sender.replace(/^id:/, ""), rules]));
}

/** The access rules and shared settings of one account, as plain data. */
function accessOf(config: Shared): ChannelAccess {
  const { dmPolicy, allowFrom, groupPolicy, groupAllowFrom, requireMention, mentionPatterns } = config;
  const { historyLimit, mediaMaxMb, streaming, replyToMode, ackReaction, groups = {} } = config;
  const mentions = Object.entries(groups).flatMap(([id, group]) =>
    group.requireMention === undefined ? [] : [[id, group.requireMention] as const],
  );
  const tools = Object.entries(groups).flatMap(([id, { tools: own, toolsBySender: bySender }]) =>
    own === undefined && bySender === undefined
      ? []
      : [[id, { ...(own && { tools: own }), ...(bySender && { bySender: byId(bySender) }) }] as const],
  );
  const access = {
    dmPolicy,
    allowFrom,
    groupPolicy,
    groupAllowFrom,
    groups: Object.keys(groups),
    requireMention,
    mentionByGroup: Object.fromEntries(mentions),
    toolsByGroup: Object.fromEntries(tools),
    mentionPatterns,
    historyLimit,
    maxMediaBytes: mediaMaxMb === undefined ? undefined : Math.round(mediaMaxMb * 1_000_000),
    streaming,
    replyToMode,
    ackReaction,
  };
  return Object.fromEntries(Object.entries(access).filter(([, value]) => value !== undefined));
}
