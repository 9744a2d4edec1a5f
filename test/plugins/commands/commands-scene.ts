/** The commands of the plugin without a gateway: real parsing and running, over services that a test gives. */
import { type ExtensionView, type Live, notFound, type Principal, type Scope } from "@svc/sdk";
import type { ChatCommand, ChatCommandCall, ChatCommands } from "@svc/sdk/commands";
import { builtinCommands } from "../../../plugins/commands/builtin.ts";
import { createChatCommands } from "../../../plugins/commands/service.ts";
import type { CommandSources } from "../../../plugins/commands/sources.ts";

export const KEY = "agent:main:main";

export function principalWith(...scopes: readonly Scope[]): Principal {
  return { id: "p", role: "operator", scopes, provenance: "token", epoch: 0 };
}

/** A live handle of part of a service: what a command does not use is absent. */
export function having<T>(value: Partial<T> | undefined): Live<T> {
  return { get: () => value as T | undefined }; // a test that needs more fails with a TypeError
}

/** A view of contributions that are all there. */
export function viewOf(commands: Readonly<Record<string, ChatCommand>>): ExtensionView<ChatCommand> {
  const all = Object.entries(commands).map(([id, value]) => ({ id, plugin: "test", value }));
  return {
    list: () => all,
    get: (id) => all.find((one) => one.id === id),
    call: (contribution, work) => work(contribution.value),
  };
}

/** Sources without any service. */
export const NOTHING: Omit<CommandSources, "commands"> = {
  sessions: having(undefined),
  runs: having(undefined),
  models: having(undefined),
  usage: having(undefined),
  config: having(undefined),
  restarts: having(undefined),
  info: having(undefined),
  clock: { now: () => 5 },
  call: async (method) => notFound(`no method ${method.name}`),
};

export interface CommandScene {
  readonly commands: ChatCommands;
  /** Errors that were logged. */
  readonly logged: string[];
  /** Runs the command in a text. @returns the reply, or the outcome as JSON */
  says(text: string, call?: Partial<ChatCommandCall>): Promise<string>;
}

/** @param others commands of other plugins */
export function openCommands(
  given: Partial<CommandSources> = {},
  others: Readonly<Record<string, ChatCommand>> = {},
): CommandScene {
  const logged: string[] = [];
  const log = { warn: (_fields: object, text: string) => void logged.push(text) };
  const sources: CommandSources = {
    ...NOTHING,
    ...given,
    commands: { list: () => commands.list(), parse: (text) => commands.parse(text) },
  };
  const commands: ChatCommands = createChatCommands({ view: viewOf({ ...builtinCommands(sources), ...others }), log });
  const base = { sessionKey: KEY, principal: principalWith("operator.admin"), runId: "r1", surface: "chat" };
  return {
    commands,
    logged,
    async says(text, call = {}) {
      const parsed = commands.parse(text);
      if (!parsed) return "for the agent";
      const outcome = await commands.run(parsed, { ...base, ...call });
      return "reply" in outcome ? outcome.reply : JSON.stringify(outcome);
    },
  };
}
