/** Plans the answers of the offline responder; `provider.ts` streams them. Pure. */
import { type Message, type ModelRequest, textOf, type ToolResultMessage, type ToolSpec } from "@svc/sdk/models";
import { parseToolArguments } from "@svc/sdk/tools";

/** An answer: its text, and a tool call after it. */
export interface Plan {
  readonly text: string;
  readonly toolCall?: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

/** How to connect a language model: by a command, so that nobody pastes a key into a chat. */
export const HOW_TO_CONNECT = `To connect a language model, type in a terminal:

    svc models add https://api.acme.example/v1 --key-env ACME_API_KEY

It lists the models of the server and adds them to the configuration file. Any server with the chat-completions API works, including one on this machine. Omit --key-env if the server needs no key, and never paste a key here.`;

const WHO = "I am the offline responder of this gateway, not a language model.";

/** Runs stamp user messages with the time: `[Sat 2026-11-21 12:00 UTC] echo hi`. Spec: methods-chat.md §2. */
const TIME_STAMP = /^\s*\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d{2}-\d{2}[^\]]*\]\s*/u;

/** Decides the answer to the last message. */
export function respond({ messages, tools }: Pick<ModelRequest, "messages" | "tools">): Plan {
  const results = resultsAtEnd(messages);
  if (results.length > 0) return { text: results.map(report).join("\n") };
  const last = messages.findLast(({ role }) => role === "user");
  const text = last ? textOf(last).replace(TIME_STAMP, "").trim() : "";
  return answer(text, tools) ?? { text: unknownText(last) };
}

function answer(text: string, tools: readonly ToolSpec[]): Plan | undefined {
  const [word, rest] = split(text);
  const command = word.toLowerCase();
  if (command === "/tool") return callTool(rest, tools);
  if (command === "echo") return { text: rest === "" ? "Nothing to repeat: write `echo <text>`." : rest };
  const question = text.toLowerCase().replace(/[\s?.!]+$/u, "");
  if (question === "help" || question === "/help" || question === "what can you do") return { text: help(tools) };
  if (question === "status") return status(tools);
  if (/^(?:what(?:'s| is) the time|what time is it|time)(?: now)?$/u.test(question)) return time(tools);
  return undefined;
}

/** The first word, and the rest of the text. */
function split(text: string): [word: string, rest: string] {
  const [word = ""] = text.split(/\s/u, 1);
  return [word, text.slice(word.length).trim()];
}

/** Tool results since the last assistant message. */
function resultsAtEnd(messages: readonly Message[]): ToolResultMessage[] {
  const start = messages.findLastIndex(({ role }) => role !== "toolResult") + 1;
  return messages.slice(start).filter((message) => message.role === "toolResult");
}

function report(result: ToolResultMessage): string {
  const text = textOf(result);
  const verb = result.isError ? "failed" : "returned";
  return `The tool \`${result.toolName}\` ${verb}${text === "" ? " without any text." : `: ${text}`}`;
}

function callTool(rest: string, tools: readonly ToolSpec[]): Plan {
  const [name, json] = split(rest);
  if (name === "") return { text: `Write \`/tool <name> <json>\`. ${offered(tools)}` };
  if (!tools.some((tool) => tool.name === name)) return { text: `There is no tool \`${name}\`. ${offered(tools)}` };
  const args = parseToolArguments(json);
  if (!args) return { text: `The arguments of \`${name}\` must be a JSON object, e.g. \`/tool ${name} {}\`.` };
  return { text: "", toolCall: { name, arguments: args } };
}

function status(tools: readonly ToolSpec[]): Plan {
  if (tools.some(({ name }) => name === "session_status")) {
    return { text: "", toolCall: { name: "session_status", arguments: {} } };
  }
  return { text: `I was not offered the tool \`session_status\`. ${offered(tools)}` };
}

const CLOCK_NAMES: ReadonlySet<string> = new Set(["time", "current_time", "get_time", "clock"]);

/** A tool with one of the usual names, else a tool whose description mentions the current time. */
function time(tools: readonly ToolSpec[]): Plan {
  const tool =
    tools.find(({ name }) => CLOCK_NAMES.has(name)) ??
    tools.find(({ description }) => /\bcurrent (?:date and )?time\b/iu.test(description));
  if (tool) return { text: "", toolCall: { name: tool.name, arguments: {} } };
  return { text: `I have no clock, and no tool for the time was offered. ${offered(tools)}` };
}

function offered(tools: readonly ToolSpec[]): string {
  if (tools.length === 0) return "No tools are offered.";
  return `Tools: ${tools.map(({ name }) => `\`${name}\``).join(", ")}.`;
}

function help(tools: readonly ToolSpec[]): string {
  return `${WHO} I understand these commands:

- \`help\`: this text
- \`echo <text>\`: I repeat the text
- \`time\`: I call a tool for the time
- \`status\`: I call the tool \`session_status\`
- \`/tool <name> <json>\`: I call a tool. ${offered(tools)}

${HOW_TO_CONNECT}`;
}

function unknownText(last: Message | undefined): string {
  const images = last?.content.some(({ type }) => type === "image") ? " I cannot look at images either." : "";
  return `${WHO} I cannot answer that.${images} Type \`help\` to see what I understand.

${HOW_TO_CONNECT}`;
}
