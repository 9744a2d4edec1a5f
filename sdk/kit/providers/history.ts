/** For plugins that call model servers: conversations in the form that strict APIs require. Pure. */
import { createHash } from "node:crypto";
import type {
  AssistantMessage,
  Message,
  ModelRequest,
  ToolCallBlock,
  ToolResultMessage,
  UserMessage,
} from "@svc/sdk/models";

/** Replaces images if the model accepts only text. */
export const IMAGE_LEFT_OUT = "[image left out: this model takes text only]";

/** Replaces a missing tool result, since the APIs reject a call without one. */
export const NO_RESULT = "[no result: the run was stopped before the tool answered]";

/** Precedes a history that begins with an answer, since strict APIs require a user message first. */
export const HISTORY_CUT = "[earlier messages left out]";

/** Replaces a message without text and images. */
export const EMPTY_MESSAGE = "[empty message]";

/** Tool results between the assistant message at `index` and the next one. */
export function resultsAfter(messages: readonly Message[], index: number): ToolResultMessage[] {
  const results: ToolResultMessage[] = [];
  for (let next = index + 1; messages[next] && messages[next]?.role !== "assistant"; next += 1) {
    const message = messages[next];
    if (message?.role === "toolResult") results.push(message);
  }
  return results;
}

/** One turn of a conversation, with blocks in the format of the API. */
export interface Turn<Block> {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

/** Converts each kind of message; an empty list leaves the message out. */
export interface TurnBlocks<Block> {
  text(text: string): Block;
  user(message: UserMessage): readonly Block[];
  assistant(message: AssistantMessage): readonly Block[];
  /** @param result absent: the tool did not answer */
  result(call: ToolCallBlock, result: ToolResultMessage | undefined): readonly Block[];
}

/**
 * The conversation with alternating roles, beginning with the user. Results of all calls stand at the start of the turn
 * after the calls; a missing result is converted as `undefined`, and a result whose call was cut from the history is left
 * out.
 */
export function alternatingTurns<Block>(messages: readonly Message[], blocks: TurnBlocks<Block>): Turn<Block>[] {
  const turns: Turn<Block>[] = [];
  const add = (role: Turn<Block>["role"], content: readonly Block[]) => {
    const last = turns.at(-1);
    if (content.length === 0) return;
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content: [...content] });
  };
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") {
      const content = blocks.user(message);
      add("user", content.length > 0 ? content : [blocks.text(EMPTY_MESSAGE)]);
    }
    if (message.role !== "assistant") continue;
    if (turns.length === 0) add("user", [blocks.text(HISTORY_CUT)]);
    add("assistant", blocks.assistant(message));
    const results = resultsAfter(messages, index);
    const calls = message.content.filter((block): block is ToolCallBlock => block.type === "toolCall");
    for (const call of calls) {
      const result = results.find(({ toolCallId }) => toolCallId === call.id);
      add("user", blocks.result(call, result));
    }
  }
  return turns;
}

/** Whether this model made the message, so that it can verify the signatures in it. */
export function isOwnMessage(
  { api, model }: AssistantMessage,
  own: Pick<ModelRequest["model"], "api" | "id">,
): boolean {
  return api === own.api && model === own.id;
}

/** The id of a tool call for APIs that accept only letters, digits, `_` and `-`, at most 64; other ids are hashed. */
export function wireId(id: string): string {
  return /^[\w-]{1,64}$/u.test(id) ? id : `call_${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}
