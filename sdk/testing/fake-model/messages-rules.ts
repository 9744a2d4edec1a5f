/** Client errors that the Messages API of Anthropic rejects. */
import type { FakeModelBody } from "./script.ts";

interface Block {
  readonly type?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly text?: string;
  readonly cache_control?: unknown;
}

interface Turn {
  readonly role: string;
  readonly content: readonly Block[];
}

interface Thinking {
  readonly type?: string;
  readonly budget_tokens?: number;
}

/** Maximum number of blocks marked for the cache. */
const MAX_MARKS = 4;

/** Why the real API would respond 400; `undefined`: it would not, as far as checked here. */
export function whyRefused(body: FakeModelBody): string | undefined {
  const maxTokens = body["max_tokens"];
  if (typeof maxTokens !== "number") return "max_tokens: Field required";
  const turns = turnsOf(body);
  if (turns.length === 0) return "messages: at least one message is required";
  if (turns[0]?.role !== "user") return "messages: first message must use the user role";
  return whyContent(turns) ?? whyTools(turns) ?? whyThinking(body["thinking"], maxTokens) ?? whyMarks(body, turns);
}

function turnsOf({ messages = [] }: FakeModelBody): Turn[] {
  return messages.map(({ role, content }) => ({
    role,
    content: Array.isArray(content) ? content : [{ type: "text", text: String(content) }],
  }));
}

function whyContent(turns: readonly Turn[]): string | undefined {
  if (turns.some(({ content }) => content.length === 0)) return "messages: all messages must have non-empty content";
  const isBlank = ({ type, text = "" }: Block) => type === "text" && text.trim() === "";
  return turns.some(({ content }) => content.some(isBlank))
    ? "messages: text content blocks must contain non-whitespace text"
    : undefined;
}

function whyTools(turns: readonly Turn[]): string | undefined {
  for (const [index, { content }] of turns.entries()) {
    const asked = content.filter(({ type }) => type === "tool_use").map(({ id }) => id ?? "");
    const bad = asked.find((id) => !/^[\w-]+$/u.test(id));
    if (bad !== undefined) return `messages.${index}: tool_use.id "${bad}" does not match ^[a-zA-Z0-9_-]+$`;
    const results = (turns[index + 1]?.content ?? []).filter(({ type }) => type === "tool_result");
    const answered = results.map((block) => block.tool_use_id);
    if (asked.some((id) => !answered.includes(id))) return `messages.${index}: tool_use without tool_result`;
    if (answered.some((id) => !asked.includes(id ?? ""))) return `messages.${index + 1}: unexpected tool_use_id`;
  }
  return undefined;
}

function whyThinking(thinking: unknown, maxTokens: number): string | undefined {
  const { type, budget_tokens: budget = 0 } = (thinking ?? {}) as Thinking; // checked field by field
  if (type !== "enabled") return undefined;
  if (budget < 1024) return "thinking.enabled.budget_tokens: must be at least 1024";
  return budget >= maxTokens ? "max_tokens must be greater than thinking.budget_tokens" : undefined;
}

function whyMarks(body: FakeModelBody, turns: readonly Turn[]): string | undefined {
  const { system } = body;
  const outside = [...(Array.isArray(system) ? system : []), ...(body.tools ?? [])] as Block[]; // any of them may be marked
  const marked = [...outside, ...turns.flatMap(({ content }) => content)].filter((block) => block.cache_control);
  if (marked.length > MAX_MARKS) return `a maximum of ${MAX_MARKS} blocks with cache_control may be provided`;
  return marked.some(({ type }) => type?.includes("thinking")) ? "thinking blocks take no cache_control" : undefined;
}
