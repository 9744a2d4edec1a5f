/** The tool `sessions_history`: shortened messages of a session. */
import { floorOf, invalidRequest, saidAfter, Strict, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { Sessions } from "@svc/sdk/sessions";
import { defineTool, type Tool } from "@svc/sdk/tools";
import { excerptText } from "../transcripts/text.ts";
import type { LoggedMessage, Transcripts } from "../transcripts/transcripts.ts";
import { findVisible } from "./tool-session.ts";

/** Choice: limits on messages, and on characters per message, per tool result and in total. */
const DEFAULT_MESSAGES = 20;
const MAX_MESSAGES = 200;
const MAX_CHARS = 4_000;
const MAX_RESULT_CHARS = 500;
const MAX_ALL_CHARS = 40_000;
/** Choice: messages read per message shown, because tool steps are omitted. */
const READ_FOR_ONE = 5;

/** A message, for programs. */
export interface HistoryMessage {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly text?: string; readonly name?: string }[];
  /** epoch ms */
  readonly timestamp: number;
}

export interface HistoryToolOptions {
  readonly sessions: Pick<Sessions, "canonicalKey" | "get" | "mayTouch">;
  readonly transcripts: Pick<Transcripts, "logs">;
}

export function sessionsHistoryTool({ sessions, transcripts }: HistoryToolOptions): Tool {
  return defineTool({
    description: "Shows the last messages of a session, oldest first. Long texts are cut; tool results are omitted.",
    params: Strict({
      sessionKey: Type.Optional(Type.String({ description: "key, as sessions_list shows it" })),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_MESSAGES, description: `messages; default ${DEFAULT_MESSAGES}` }),
      ),
      includeTools: Type.Optional(Type.Boolean({ description: "also calls and results of tools, shortened" })),
    }),
    scope: "operator.read",
    effects: ["reads"],
    independent: true,
    brings: "none",
    async run({ sessionKey = "", limit = DEFAULT_MESSAGES, includeTools = false }, { call }) {
      if (sessionKey.trim() === "") return invalidRequest("sessionKey required");
      const { key, entry } = await findVisible(sessionKey, call, sessions);
      const read = includeTools ? limit : limit * READ_FOR_ONE;
      const logged = await transcripts.logs(entry.sessionId, read, MAX_CHARS + 1); // one extra character shows that a text was cut
      const messages = logged.flatMap((message) => shown(message, includeTools) ?? []).slice(-limit);
      const kept = withinBounds(messages, MAX_ALL_CHARS);
      const details = {
        sessionKey: key,
        sessionId: entry.sessionId,
        messages: kept,
        truncated: kept.length < messages.length,
      };
      const text = kept.length === 0 ? "No messages." : kept.map(line).join("\n\n");
      const origin = floorOf(logged.map((message) => message.origin));
      return { content: [{ type: "text", text }], details, ...(origin ? { origin: saidAfter(origin) } : {}) };
    },
  });
}

/** `undefined`: nothing to show. */
export function shown({ role, content, at }: LoggedMessage, includeTools: boolean): HistoryMessage | undefined {
  const isResult = role === "toolResult" || role === "tool";
  if (isResult && !includeTools) return undefined;
  const max = isResult ? MAX_RESULT_CHARS : MAX_CHARS;
  const blocks = content.flatMap(({ type, text, name }) => {
    if (type === "text" && text?.trim()) return [{ type, text: cut(text, max) }];
    if (type === "toolCall" && includeTools && name !== null) return [{ type, name }];
    return type === "image" ? [{ type }] : []; // without its data
  });
  return blocks.length === 0 ? undefined : { role, content: blocks, timestamp: at };
}

/** The newest messages that fit together; at least the newest one. */
export function withinBounds(messages: readonly HistoryMessage[], maxChars: number): readonly HistoryMessage[] {
  let left = maxChars;
  const from = messages.findLastIndex((message) => {
    left -= message.content.reduce((sum, { text = "" }) => sum + text.length, 0);
    return left < 0;
  });
  return messages.slice(Math.min(from + 1, messages.length - 1));
}

function line({ role, content, timestamp }: HistoryMessage): string {
  const blocks = content.map(({ type, text = null, name = null }) => ({ type, text, name }));
  return `[${new Date(timestamp).toISOString()}] ${role}: ${excerptText({ role, content: blocks }) ?? ""}`;
}
