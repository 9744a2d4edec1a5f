/** `/model`, `/models` and the levels of a session: `/think`, `/verbose`, `/reasoning`. Spec: protocol/methods-sessions.md §5. */
import { invalidRequest } from "@svc/sdk";
import type { ChatCommandCall } from "@svc/sdk/commands";
import { type ModelChoice, type Models, parseThinkingLevel, THINKING_LEVELS } from "@svc/sdk/models";
import { currentModel, resolved } from "./current-model.ts";
import { answering, chosen, type CommandSources, type CommandTable, entryOf, need, patchSession } from "./sources.ts";

/** Choice: longer lists are shortened; `/models <provider>` shows the rest. */
const MAX_LISTED = 40;

export function modelCommands(sources: CommandSources): CommandTable {
  return {
    model: {
      summary: "show or choose the model of this conversation",
      usage: "[name|number|default]",
      ...answering((call) => model(sources, call)),
    },
    models: {
      summary: "list the models",
      usage: "[provider]",
      ...answering(async (call) => listed(need(sources.models, "models", call).list(), call.text)),
    },
    think: {
      summary: "show or set how much the model thinks before it answers",
      usage: `[${THINKING_LEVELS.join("|")}|default]`,
      ...answering((call) => think(sources, call)),
    },
    verbose: {
      summary: "show or set whether clients get the tool calls of replies, or also their results",
      usage: "[off|on|full|default]",
      ...answering((call) => verbose(sources, call)),
    },
    reasoning: {
      summary: "show or set whether clients get the model's reasoning as it is written",
      usage: "[off|stream|default]",
      ...answering((call) => reasoning(sources, call)),
    },
  };
}

async function model(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const models = need(sources.models, "models", call);
  if (call.text === "") {
    const current = currentModel(sources, call, await entryOf(sources, call)) ?? "none";
    return `Model: ${current}. Choose another: /model <name or number>; /model default.\n${listed(models.list(), "")}`;
  }
  if (call.text.toLowerCase() === "default") {
    const standard = currentModel(sources, call, await patchSession(sources, call, { model: null }));
    return `Model: the default${standard === undefined ? "" : `, ${standard}`}.`;
  }
  const entry = await patchSession(sources, call, { model: chosenModel(models, call.text) });
  return `Model: ${currentModel(sources, call, entry) ?? "none"}.`;
}

/** @returns `provider/id` @throws GatewayError `INVALID_REQUEST` if there is no such model */
function chosenModel(models: Models, text: string): string {
  const all = models.list();
  if (/^\d{1,4}$/.test(text)) {
    const numbered = all[Number(text) - 1];
    return numbered
      ? nameOf(numbered)
      : invalidRequest(`there is no model number ${text}; /models lists ${all.length}`);
  }
  const found = resolved(models, text);
  return found ? nameOf(found) : invalidRequest(`there is no model "${text}"; /models lists them`);
}

const nameOf = ({ provider, id }: Pick<ModelChoice, "provider" | "id">) => `${provider}/${id}`;

/** The models of a provider with the numbers of `/model`. @param provider empty: all @throws GatewayError `INVALID_REQUEST` */
function listed(all: readonly ModelChoice[], provider: string): string {
  const wanted = provider.toLowerCase();
  const lines = all
    .map((choice, index) => ({ choice, line: `${index + 1}. ${nameOf(choice)}` }))
    .filter(({ choice }) => wanted === "" || choice.provider.toLowerCase() === wanted)
    .map(({ line }) => line);
  const providers = [...new Set(all.map((choice) => choice.provider))].join(", ") || "none";
  if (lines.length === 0 && wanted !== "")
    invalidRequest(`there are no models of "${provider}"; providers: ${providers}`);
  if (lines.length === 0) return "There are no models; see: svc models status";
  const more = lines.length - MAX_LISTED;
  const rest = more > 0 ? [`... and ${more} more: /models <provider>; providers: ${providers}`] : [];
  return [...lines.slice(0, MAX_LISTED), ...rest].join("\n");
}

/** Choice: refuses a level for a model without `reasoning`, since providers send none to it. */
async function think(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const { text } = call;
  const entry = await entryOf(sources, call);
  if (text === "")
    return `Thinking: ${entry.thinkingLevel ?? "default"}. Levels: ${THINKING_LEVELS.join(", ")}, default.`;
  if (text.toLowerCase() === "default") {
    await patchSession(sources, call, { thinkingLevel: null });
    return "Thinking: default.";
  }
  const level =
    parseThinkingLevel(text) ??
    invalidRequest(`/think does not know "${text}"; levels: ${THINKING_LEVELS.join(", ")}, default`);
  const name = currentModel(sources, call, entry);
  const used = name === undefined ? undefined : resolved(sources.models.get(), name);
  if (level !== "off" && used && used.reasoning !== true)
    invalidRequest(`${name} is no reasoning model, so the level ${level} has no effect; choose another one: /model`);
  await patchSession(sources, call, { thinkingLevel: level });
  return `Thinking: ${level}.`;
}

async function verbose(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  if (call.text === "") return `Verbose: ${(await entryOf(sources, call)).verboseLevel ?? "default"}.`;
  const level = chosen(call, ["off", "on", "full", "default"]);
  const hasNodes = sources.info
    .get()
    ?.plugins()
    .some(({ id, state }) => id === "nodes" && ["active", "asleep"].includes(state));
  if (level === "on" && !hasNodes)
    invalidRequest(
      "/verbose on has no effect without the plugin nodes: clients get tool calls anyway; use off or full",
    );
  await patchSession(sources, call, { verboseLevel: level === "default" ? null : level });
  return `Verbose: ${level}.`;
}

async function reasoning(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  if (call.text === "") {
    const { reasoningLevel = "off" } = await entryOf(sources, call);
    return `Reasoning: ${String(reasoningLevel)}.`;
  }
  if (call.text.toLowerCase() === "on")
    invalidRequest(
      "/reasoning on has no effect: reasoning is only sent as it is written, never with the reply; use stream",
    );
  const level = chosen(call, ["off", "stream", "default"]);
  await patchSession(sources, call, { reasoningLevel: level === "default" ? null : level });
  return `Reasoning: ${level}.`;
}
