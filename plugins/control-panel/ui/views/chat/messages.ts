/** What `chat.history` returns, and the rows that people see instead. Pure. */
import type { Approval } from "./approvals.ts";
import type { LiveRun, LiveTool, Outgoing } from "./live.ts";

/** A part of a message. Messages come from models and plugins, so every field may be missing. */
export interface Block {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: unknown;
  readonly data?: string;
  readonly mimeType?: string;
  /** The image is not part of the history. */
  readonly omitted?: boolean;
  /** Length of its base64 text. */
  readonly bytes?: number;
}

/** A message of the history. */
export interface ChatMessage {
  readonly id: string;
  readonly role: string;
  readonly content: readonly Block[];
  /** epoch ms */
  readonly timestamp: number;
  readonly provider?: string;
  readonly model?: string;
  readonly stopReason?: string;
  readonly errorMessage?: string;
  readonly toolCallId?: string;
  readonly isError?: boolean;
  readonly origin?: { readonly kind?: string; readonly id?: string };
  readonly isCompaction: boolean;
}

/** @param row as `chat.history` returns it with ids */
export function messageOf(row: unknown): ChatMessage {
  const fields = Object(row) as Partial<ChatMessage> & { readonly __svc?: { readonly id?: string; kind?: string } };
  const { role = "", content = [], timestamp = 0, __svc: marks = {} } = fields;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    ...fields,
    id: marks.id ?? "",
    role,
    content: blocks,
    timestamp,
    isCompaction: marks.kind === "compaction",
  };
}

export function textOf({ content }: Pick<ChatMessage, "content">): string {
  return content.map(({ type, text }) => (type === "text" ? (text ?? "") : "")).join("");
}

export function thinkingOf({ content }: ChatMessage): string {
  return content.map(({ type, thinking }) => (type === "thinking" ? (thinking ?? "") : "")).join("\n\n");
}

export function imagesOf({ content }: ChatMessage): readonly Block[] {
  return content.filter(({ type }) => type === "image");
}

/** A call of a tool, with its result if there is one. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** Absent: it has none yet. */
  readonly result?: ChatMessage;
  /** What the run says about a call whose result is not in the history. */
  readonly live?: LiveTool;
}

/** A row of the conversation. */
export type Row = { readonly key: string } & (
  | { readonly kind: "day"; readonly at: number }
  | { readonly kind: "user" | "answer"; readonly message: ChatMessage }
  | { readonly kind: "tools"; readonly calls: readonly Call[]; readonly at: number }
  | { readonly kind: "compaction"; readonly at: number }
  | { readonly kind: "echo"; readonly text: string }
  | { readonly kind: "live"; readonly run: LiveRun; readonly text: string }
  | { readonly kind: "outgoing"; readonly message: Outgoing }
  | { readonly kind: "approval"; readonly approval: Approval }
);

/** A command that people sent: the history only has its answer. */
export interface Echo {
  readonly runId: string;
  readonly text: string;
  /** Id of the message before it; empty: it is the first one. */
  readonly afterId: string;
}

/** The rows of the stored messages. Calls that follow each other without a text between them form one row. */
export function storedRows(messages: readonly ChatMessage[], echoes: readonly Echo[]): readonly Row[] {
  const rows: Row[] = [];
  const results = new Map<string, ChatMessage>();
  for (const message of messages)
    if (message.role === "toolResult" && message.toolCallId !== undefined) results.set(message.toolCallId, message);
  let day = { from: 0, to: 0 };
  let calls: Call[] | undefined;
  const echo = (afterId: string) => {
    for (const { runId, text, afterId: after } of echoes)
      if (after === afterId) rows.push({ key: `echo-${runId}`, kind: "echo", text });
  };
  echo("");
  for (const message of messages) {
    const { id, role, timestamp: at } = message;
    if (at > 0 && (at < day.from || at >= day.to) && role !== "toolResult") {
      day = dayOf(at);
      calls = undefined;
      rows.push({ key: `day-${day.from}-${id}`, kind: "day", at });
    }
    if (message.isCompaction) {
      calls = undefined;
      rows.push({ key: id, kind: "compaction", at });
    } else if (role === "user") {
      calls = undefined;
      rows.push({ key: id, kind: "user", message });
    } else if (role === "assistant") {
      if (isShown(message)) {
        calls = undefined;
        rows.push({ key: id, kind: "answer", message });
      }
      for (const call of callsOf(message, results)) {
        if (!calls) rows.push({ key: `tools-${id}-${call.id}`, kind: "tools", calls: (calls = []), at });
        calls.push(call);
      }
    }
    echo(id);
  }
  return rows;
}

/** The day of a time, in the zone of the browser. Once for each day: long conversations have many messages of one. */
function dayOf(at: number): { readonly from: number; readonly to: number } {
  const from = new Date(at).setHours(0, 0, 0, 0);
  const next = new Date(from);
  return { from, to: next.setDate(next.getDate() + 1) };
}

/** Whether a message has more than tool calls. */
function isShown(message: ChatMessage): boolean {
  return message.stopReason === "error" || textOf(message).trim() !== "" || thinkingOf(message).trim() !== "";
}

function callsOf({ content }: ChatMessage, results: ReadonlyMap<string, ChatMessage>): Call[] {
  return content.flatMap(({ type, id = "", name = "", arguments: args }) => {
    const result = results.get(id);
    return type === "toolCall" ? [{ id, name, args, ...(result ? { result } : {}) }] : [];
  });
}

/** The rows of replies in progress and of messages that are not in the history yet. */
export function liveRows(
  messages: readonly ChatMessage[],
  runs: Iterable<LiveRun>,
  outgoing: readonly Outgoing[],
  approvals: readonly Approval[],
): readonly Row[] {
  const rows: Row[] = [];
  const started = outgoing.filter(({ state }) => state === "started");
  for (const message of started) rows.push({ key: `out-${message.runId}`, kind: "outgoing", message });
  for (const run of runs) {
    if (run.isWaiting) continue;
    rows.push({ key: `live-${run.runId}`, kind: "live", run, text: unstored(run, messages) });
    const known = storedCalls(messages, run);
    const calls = [...run.tools.values()].filter(({ id }) => !known.has(id));
    if (calls.length > 0)
      rows.push({
        key: `live-tools-${run.runId}`,
        kind: "tools",
        calls: calls.map((live) => ({ id: live.id, name: live.name, args: live.args, live })),
        at: run.startedAt,
      });
  }
  for (const approval of approvals) rows.push({ key: `approval-${approval.id}`, kind: "approval", approval });
  const waiting = outgoing.filter((message) => !started.includes(message));
  for (const message of waiting) rows.push({ key: `out-${message.runId}`, kind: "outgoing", message });
  return rows;
}

/** Messages stored since the run began. */
function since(messages: readonly ChatMessage[], run: LiveRun): readonly ChatMessage[] {
  const first = messages.findLastIndex(({ timestamp, role }) => timestamp < run.startedAt && role !== "system");
  return messages.slice(first + 1);
}

function storedCalls(messages: readonly ChatMessage[], run: LiveRun): ReadonlySet<string> {
  const blocks = since(messages, run).flatMap(({ content }) => content);
  return new Set(blocks.flatMap(({ type, id }) => (type === "toolCall" && id !== undefined ? [id] : [])));
}

/** The text of a run, which is the text of all its answers, without the answers that the history has already. */
function unstored(run: LiveRun, messages: readonly ChatMessage[]): string {
  const said = since(messages, run)
    .filter(({ role, provider }) => role === "assistant" && provider !== "svc")
    .map((message) => textOf(message).trim())
    .filter(Boolean);
  let rest = run.text;
  for (const text of said) {
    if (!rest.trimStart().startsWith(text)) return rest;
    rest = rest.trimStart().slice(text.length);
  }
  return rest.trim() === "" ? "" : rest.trimStart();
}

/** The conversation as a Markdown document. @param names of the two sides */
export function asMarkdown(
  messages: readonly ChatMessage[],
  names: { readonly you: string; readonly agent: string },
): string {
  const parts = messages.flatMap((message) => {
    const text = textOf(message).trim();
    const tools = message.content.flatMap(({ type, name }) => (type === "toolCall" ? [`\`${name}\``] : []));
    if (message.role === "user") return [`**${names.you}:** ${text}`];
    if (message.role !== "assistant") return [];
    const { errorMessage } = message;
    const lines = [text, tools.length > 0 ? `*${tools.join(", ")}*` : "", errorMessage ?? ""].filter(Boolean);
    return lines.length > 0 ? [`**${names.agent}:** ${lines.join("\n\n")}`] : [];
  });
  return `${parts.join("\n\n")}\n`;
}

/** What a search finds in a row. */
export function searchTextOf(row: Row): string {
  switch (row.kind) {
    case "user":
    case "answer":
      return textOf(row.message);
    case "tools":
      return row.calls
        .flatMap(({ name, args, result }) => [
          name,
          ...factsOf(args).map(([, text]) => text),
          result ? textOf(result) : "",
        ])
        .join(" ");
    case "echo":
      return row.text;
    default:
      return "";
  }
}

/** Arguments as rows that people can read: names, and values without quotes. */
export function factsOf(args: unknown): readonly (readonly [name: string, text: string])[] {
  if (typeof args === "string") return args === "" ? [] : [["", args]];
  return Object.entries(Object(args) as Record<string, unknown>).map(([name, value]) => [name, plain(value)]);
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}: ${plain(inner)}`)
    .join("; ");
}
