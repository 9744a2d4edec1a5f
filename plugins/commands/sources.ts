/** What the built-in commands work with. Every service is live: a command names the plugin that is missing. */
import { invalidRequest, type Clock, type Live, notFound, type PluginGateway } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import type { ChatCommand, ChatCommandCall, ChatCommands } from "@svc/sdk/commands";
import type { ConfigStore } from "@svc/sdk/config";
import type { GatewayInfo, Restarts } from "@svc/sdk/gateway";
import type { Models } from "@svc/sdk/models";
import { type SessionEntry, sessions, type Sessions } from "@svc/sdk/sessions";
import type { UsageRecords } from "@svc/sdk/usage";

export interface CommandSources {
  readonly sessions: Live<Sessions>;
  readonly runs: Live<AgentRuns>;
  readonly models: Live<Models>;
  readonly usage: Live<UsageRecords>;
  readonly config: Live<ConfigStore>;
  readonly restarts: Live<Restarts>;
  readonly info: Live<Pick<GatewayInfo, "plugins">>;
  readonly clock: Pick<Clock, "now">;
  /** Calls a method of the gateway as this plugin. */
  readonly call: PluginGateway["call"];
  /** All commands, also those of other plugins. */
  readonly commands: Pick<ChatCommands, "list" | "parse">;
}

/** Commands by name, without the slash. */
export type CommandTable = Readonly<Record<string, ChatCommand>>;

/** @throws GatewayError `NOT_FOUND` naming the plugin, which `ChatCommands.run` turns into an answer */
export function need<T>(service: Live<T>, plugin: string, { name }: Pick<ChatCommandCall, "name">): T {
  return service.get() ?? notFound(`/${name} needs the plugin ${plugin}, which is not running; see: svc plugins list`);
}

/** The command as a text for the agent. */
export function asText({ name, text }: Pick<ChatCommandCall, "name" | "text">): string {
  return `/${name} ${text}`.trim();
}

/** A command without arguments. @throws GatewayError `INVALID_REQUEST` if there are some */
export function alone(run: (call: ChatCommandCall) => Promise<string> | string): Pick<ChatCommand, "run"> {
  return {
    async run(call) {
      if (call.text !== "")
        invalidRequest(`/${call.name} stands alone; to send the text to the agent, write /${asText(call)}`);
      return { reply: await run(call) };
    },
  };
}

/** A command that always answers. */
export function answering(run: (call: ChatCommandCall) => Promise<string>): Pick<ChatCommand, "run"> {
  return { run: async (call) => ({ reply: await run(call) }) };
}

/** The session of the call; empty if it does not exist yet. */
export async function entryOf(sources: CommandSources, call: ChatCommandCall): Promise<Partial<SessionEntry>> {
  return (await need(sources.sessions, "sessions", call).get(call.sessionKey)) ?? {};
}

/** Changes settings of the session with the checks of `sessions.patch`. `null` removes one. Idempotent. @returns the new entry */
export async function patchSession(
  sources: CommandSources,
  call: ChatCommandCall,
  fields: Omit<Parameters<typeof sources.call<typeof sessions.patch>>[1], "key">,
): Promise<Partial<SessionEntry>> {
  need(sources.sessions, "sessions", call);
  return (await sources.call(sessions.patch, { key: call.sessionKey, ...fields })).entry;
}

/**
 * The choice that a word names, in any case.
 * @throws GatewayError `INVALID_REQUEST` naming the choices
 */
export function chosen<C extends string>({ name, text }: ChatCommandCall, choices: readonly C[]): C {
  const word = text.toLowerCase();
  return (
    choices.find((choice) => choice === word) ??
    invalidRequest(`/${name} does not know "${text}"; choices: ${choices.join(", ")}`)
  );
}
