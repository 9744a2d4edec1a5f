/** Who may talk to an agent through an account, and the other settings that all channels share. */

import type { GroupToolRules } from "../tools/service.ts";

/** Access rules and shared settings of an account. Plain data; `@svc/kit/channels` reads them from the configuration. */
export interface ChannelAccess {
  /**
   * Direct messages of unlisted people: `pairing` sends them a code that the owner approves, `allowlist` refuses them,
   * `open` admits everyone if `allowFrom` has `*`, `disabled` refuses all direct messages. Default `pairing`.
   */
  readonly dmPolicy?: "pairing" | "allowlist" | "open" | "disabled";
  /**
   * Ids of people whose direct messages reach an agent; `*`: everyone. Use only ids that no other user can take over,
   * as in `sender.id`. Default: nobody.
   */
  readonly allowFrom?: readonly string[];
  /** `allowlist`: only `groups`; `open`: every group; `disabled`: none. Default `allowlist`. */
  readonly groupPolicy?: "allowlist" | "open" | "disabled";
  /** Groups, by `chat.id` or `chat.parentId`, in which the agent listens; `*`: every group. Default: none. */
  readonly groups?: readonly string[];
  /** Ids of people whose messages in groups are read; `*`: everyone. Default: everyone in a permitted group. */
  readonly groupAllowFrom?: readonly string[];
  /** In groups, only messages that mention the agent reach it. Default true. */
  readonly requireMention?: boolean;
  /** `requireMention` of single groups, by `chat.id` or `chat.parentId`; `*`: all groups. */
  readonly mentionByGroup?: Readonly<Record<string, boolean>>;
  /** Tool rules of single groups, by `chat.id`; `*`: all groups. `bySender` has rules by `sender.id` or `*`, and precedes `tools`. */
  readonly toolsByGroup?: Readonly<
    Record<string, { readonly tools?: GroupToolRules; readonly bySender?: Readonly<Record<string, GroupToolRules>> }>
  >;
  /** Regular expressions, case-insensitive; a match in the text counts as a mention. Default: none. */
  readonly mentionPatterns?: readonly string[];
  /** Messages of a group without a mention that the agent sees with the next mention; 0: none. Default 50. */
  readonly historyLimit?: number;
  /** Maximum bytes of a received file. Default 20,000,000. */
  readonly maxMediaBytes?: number;
  /**
   * How an answer appears while it is being written: `draft` edits one message (capability `edits`), `block` sends
   * finished paragraphs, `off` sends the whole answer. Default `draft` if the channel has `edits`, otherwise `off`.
   */
  readonly streaming?: "draft" | "block" | "off";
  /** Which messages of an answer quote the question (capability `replies`). Default `first` in groups, `off` in direct chats. */
  readonly replyToMode?: "off" | "first" | "all";
  /** Emoji that marks a message while the agent works on it (capability `reactions`). Default: none. */
  readonly ackReaction?: string;
}
