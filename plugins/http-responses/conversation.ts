/** Converts the items of a request into one turn of an agent. Pure. Spec: http/responses.md §3, http/chat-completions.md §4. */
import {
  type AssistantMessage,
  type ImageBlock,
  injectedMessage,
  type Message,
  type TextBlock,
  type ToolCallBlock,
  type ToolResultMessage,
  type UserMessage,
} from "@svc/sdk/models";
import { refuse } from "./check.ts";
import type { LoadedItem, LoadedPart } from "./media.ts";

/** Input of a run. */
export interface Turn {
  readonly message: string;
  readonly images: readonly ImageBlock[];
  readonly toolResults: readonly ToolResultMessage[];
  /** Absent: the session's own conversation is used. */
  readonly history?: readonly Message[];
  readonly system: string | undefined;
}

/** Context of the turn. */
export interface TurnScene {
  readonly instructions: string | undefined;
  /** The turn continues an earlier response, so history must not be sent again. */
  readonly continues: boolean;
  /** Calls of the session that can be answered: id -> name of the tool. */
  readonly calls: ReadonlyMap<string, string>;
  /** epoch ms */
  readonly now: number;
}

interface Said {
  readonly kind: "user" | "assistant";
  readonly text: string;
  readonly images: readonly ImageBlock[];
}
interface Answered {
  readonly kind: "output";
  readonly callId: string;
  readonly text: string;
  readonly images: readonly ImageBlock[];
}
type Called = Extract<LoadedItem, { kind: "call" }>;
type Entry = Said | Answered | Called;

/**
 * The last user message is the turn, and the function outputs right before it answer calls. If the input ends with
 * function outputs, the outputs are the turn, without a message. Items before the turn are history; items after it are
 * ignored.
 * @throws GatewayError `INVALID_REQUEST` if there is nothing to answer, or if history is sent again
 */
export function turnOf(items: readonly LoadedItem[], { instructions, continues, calls, now }: TurnScene): Turn {
  const entries = items.flatMap(entryOf);
  const last = entries.findLastIndex(({ kind }) => kind === "user" || kind === "output");
  const current = last < 0 ? assistantAsUser(entries) : entries.slice(0, last + 1);
  if (current.length === 0) refuse([], "Missing user message in `input`.");
  const messageAt = startOf(current, current.length, "user", continues ? Infinity : 1);
  const outputsAt = startOf(current, messageAt, "output", Infinity);
  const earlier = current.slice(0, outputsAt);
  if (continues && earlier.length > 0) {
    refuse(["input"], "with previous_response_id send only new items: function call outputs, then user messages");
  }
  const outputs = current.slice(outputsAt, messageAt).filter(isOutput);
  const said = current.slice(messageAt).filter(isSaid);
  const answerable = earlier.length > 0 ? callsIn(earlier) : calls;
  const strays = outputs.filter(({ callId }) => !answerable.has(callId));
  const loose = items.flatMap((item) => (isLoose(item) ? imagesOf(item.parts) : []));
  return {
    message: [...strays.map(strayText), ...said.map(({ text }) => text)].filter(Boolean).join("\n\n"),
    images: [...loose, ...[...strays, ...said].flatMap(({ images }) => images)],
    toolResults: outputs.flatMap((output) => resultOf(output, answerable, now)),
    ...(earlier.length > 0 ? { history: historyOf(earlier) } : {}),
    system: systemOf(instructions, items),
  };
}

/** Instructions, system texts and files. Spec: http/responses.md §3, last line. */
function systemOf(instructions: string | undefined, items: readonly LoadedItem[]): string | undefined {
  const messages = items.filter((item) => item.kind === "message");
  const texts = messages.filter(({ role }) => role === "system").map(({ parts }) => textOf(parts));
  const files = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "file" ? [part.block] : [])));
  return [instructions ?? "", ...texts, ...files].filter((text) => text.trim() !== "").join("\n\n") || undefined;
}

/** Empty for an item without content. */
function entryOf(item: LoadedItem): Entry[] {
  if (item.kind === "call") return [item];
  const images = imagesOf(item.parts);
  if (item.kind === "output") return [{ ...item, text: textOf(item.parts, true), images }];
  const { role, parts } = item;
  if (role === "system") return [];
  const text = textOf(parts);
  if (role === "assistant") return text.trim() === "" ? [] : [{ kind: role, text, images: [] }];
  if (text.trim() !== "") return [{ kind: role, text, images }];
  const files = parts.flatMap((part) => (part.kind === "file" ? [part.name] : []));
  if (files.length === 0 && images.length === 0) return [];
  return [{ kind: role, text: images.length > 0 ? "" : `[attached: ${files.join(", ")}]`, images }];
}

/** Texts, joined by a newline. @param withFiles include the text of files; if false, the system prompt has that text */
function textOf(parts: readonly LoadedPart[], withFiles = false): string {
  const texts = parts.flatMap((part) => {
    if (part.kind === "text") return [part.text];
    return part.kind === "file" && withFiles ? [part.block] : [];
  });
  return texts.join("\n");
}

function imagesOf(parts: readonly LoadedPart[]): readonly ImageBlock[] {
  return parts.flatMap((part) => (part.kind === "text" ? [] : part.kind === "image" ? [part.image] : part.images));
}

/** Whether the pictures of the item have no message of their own and are added to the turn. */
function isLoose(item: LoadedItem): item is Extract<LoadedItem, { kind: "message" }> {
  return item.kind === "message" && item.role !== "user";
}

/** Without a user message, the last assistant message is the question. Spec: http/chat-completions.md §4 rule 5. */
function assistantAsUser(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.findLastIndex(({ kind }) => kind === "assistant");
  const said = entries[last];
  return said?.kind === "assistant" ? [...entries.slice(0, last), { ...said, kind: "user" }] : [];
}

/** Start of the consecutive entries of this kind that end before `end`; maximum number: `most`. */
function startOf(entries: readonly Entry[], end: number, kind: Entry["kind"], most: number): number {
  let start = end;
  while (start > 0 && end - start < most && entries[start - 1]?.kind === kind) start -= 1;
  return start;
}

const isOutput = (entry: Entry): entry is Answered => entry.kind === "output";
const isSaid = (entry: Entry): entry is Said => entry.kind === "user" || entry.kind === "assistant";

function callsIn(entries: readonly Entry[]): ReadonlyMap<string, string> {
  return new Map(entries.flatMap((entry) => (entry.kind === "call" ? [[entry.callId, entry.name] as const] : [])));
}

/** An answer to an unknown call becomes text. Spec: http/responses.md §3. */
function strayText({ callId, text }: Answered): string {
  return `Tool:${callId}: ${text}`;
}

function resultOf(
  { callId, text, images }: Answered,
  calls: ReadonlyMap<string, string>,
  timestamp = 0,
): ToolResultMessage[] {
  const toolName = calls.get(callId);
  if (toolName === undefined) return [];
  const content = [...(text === "" && images.length > 0 ? [] : [textBlock(text)]), ...images];
  return [{ role: "toolResult", toolCallId: callId, toolName, content, isError: false, timestamp }];
}

function historyOf(entries: readonly Entry[]): readonly Message[] {
  const calls = callsIn(entries);
  const messages: Message[] = [];
  for (const entry of entries) {
    if (entry.kind === "user") messages.push(userMessage(entry.text, entry.images));
    else if (entry.kind === "output") {
      const [result] = resultOf(entry, calls);
      messages.push(result ?? userMessage(strayText(entry), entry.images));
    } else {
      const before = messages.at(-1);
      const isMore = before?.role === "assistant"; // one answer of the model has several items
      const block = entry.kind === "call" ? callBlock(entry) : textBlock(isMore ? `\n\n${entry.text}` : entry.text);
      if (isMore) messages[messages.length - 1] = assistant([...before.content, block]);
      else messages.push(assistant([block]));
    }
  }
  return messages;
}

function userMessage(text: string, images: readonly ImageBlock[]): UserMessage {
  const content = [...(text === "" ? [] : [textBlock(text)]), ...images];
  return { role: "user", content, timestamp: 0 };
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

function callBlock({ callId, name, arguments: args }: Called): ToolCallBlock {
  return { type: "toolCall", id: callId, name, arguments: args };
}

function assistant(content: AssistantMessage["content"]): AssistantMessage {
  const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
  return { ...injectedMessage("", 0), content, stopReason };
}
