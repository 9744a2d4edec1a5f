/** `/usage` and `/context`: what the conversation has cost, and what the model is shown. */
import type { ChatCommandCall } from "@svc/sdk/commands";
import type { SessionEntry } from "@svc/sdk/sessions";
import { currentModel, resolved } from "./current-model.ts";
import {
  alone,
  answering,
  chosen,
  type CommandSources,
  type CommandTable,
  entryOf,
  need,
  patchSession,
} from "./sources.ts";

/** Choice: messages that are counted. */
const MAX_COUNTED = 1_000;

export function usageCommands(sources: CommandSources): CommandTable {
  return {
    usage: {
      summary: "show tokens and cost of this conversation, or set the line below answers in channels",
      usage: "[off|tokens|full]",
      ...answering((call) => usage(sources, call)),
    },
    context: {
      summary: "show how full the model's context is, and what is in it",
      ...alone((call) => context(sources, call)),
    },
  };
}

async function usage(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  if (call.text !== "") {
    const mode = chosen(call, ["off", "tokens", "full"]);
    await patchSession(sources, call, { responseUsage: mode });
    return `Usage below answers in channels: ${mode}.`;
  }
  const { responseUsage = "off" } = await entryOf(sources, call);
  const known = await need(sources.usage, "sessions", call).timeseries(call.sessionKey, 1);
  const { cumulativeTokens = 0, cumulativeCost = 0 } = known?.points.at(-1) ?? {};
  const cost = cumulativeCost === 0 ? "no known cost" : `$${cumulativeCost.toFixed(4)}`;
  return `Usage of this conversation: ${cumulativeTokens} tokens, ${cost}. Below answers in channels: ${String(responseUsage)}.`;
}

async function context(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const sessions = need(sources.sessions, "sessions", call);
  const [entry, shown] = await Promise.all([entryOf(sources, call), sessions.context(call.sessionKey, MAX_COUNTED)]);
  const count = shown.items.length;
  const messages = `${count}${count >= MAX_COUNTED ? " or more" : ""} messages`;
  const summary = shown.summary === undefined ? "" : " after a summary of earlier ones";
  return [
    `Context: ${fillText(sources, call, entry)}; ${messages}${summary}.`,
    ...reportLines(entry["systemPromptReport"]),
  ].join("\n");
}

function fillText(sources: CommandSources, call: ChatCommandCall, entry: Partial<SessionEntry>): string {
  const { totalTokens, totalTokensFresh } = entry;
  const window =
    entry.contextTokens ?? resolved(sources.models.get(), currentModel(sources, call, entry))?.contextWindow;
  const room = window === undefined ? "an unknown window" : `${window} tokens`;
  if (totalTokens === undefined || totalTokensFresh === false) return `unknown use of ${room}, until the next reply`;
  const share = window ? ` (${Math.round((100 * totalTokens) / window)} %)` : "";
  return `${totalTokens} of ${room}${share}`;
}

/** The parts of the system prompt, as far as the last run noted them. Spec: protocol/stores.md §1 `systemPromptReport`. */
function reportLines(report: unknown): readonly string[] {
  const chars = numberIn(at(report, "systemPrompt"), "chars");
  const files = rowsIn(report, "injectedWorkspaceFiles").flatMap((file) => {
    const [name, size] = [at(file, "name"), numberIn(file, "injectedChars")];
    return typeof name === "string" && size !== undefined ? [`${name} ${size}`] : [];
  });
  const tools = rowsIn(at(report, "tools"), "entries").length;
  return [
    ...(chars === undefined ? [] : [`System prompt: ${chars} characters.`]),
    ...(files.length === 0 ? [] : [`Files in it, in characters: ${files.join(", ")}.`]),
    ...(tools === 0 ? [] : [`Tools: ${tools}.`]),
  ];
}

function at(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key]; // has it
}

function numberIn(value: unknown, key: string): number | undefined {
  const found = at(value, key);
  return typeof found === "number" ? found : undefined;
}

function rowsIn(value: unknown, key: string): readonly unknown[] {
  const found = at(value, key);
  return Array.isArray(found) ? found : [];
}
