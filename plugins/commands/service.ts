/** The service `ChatCommands` over the contributions of all plugins. */
import {
  type Contribution,
  coversScope,
  ERRORS,
  type ExtensionView,
  isGatewayError,
  type Logger,
  type Scope,
} from "@svc/sdk";
import type { ChatCommand, ChatCommandOutcome, ChatCommands, ParsedCommand } from "@svc/sdk/commands";
import { nearestName } from "@svc/sdk/errors";
import { COMMAND_NAME, commandIn } from "./parse.ts";

const DEFAULT_SCOPE: Scope = "operator.write";

export interface ServiceSources {
  readonly view: ExtensionView<ChatCommand>;
  readonly log: Pick<Logger, "warn">;
}

type Found = Contribution<ChatCommand>;

export function createChatCommands({ view, log }: ServiceSources): ChatCommands {
  const all = () => view.list().filter(({ id }) => COMMAND_NAME.test(id));

  /** By name, then by alias. Menus of some networks allow no `-`, so `_` stands for it. */
  function find(name: string): Found | undefined {
    const commands = all();
    return (
      commands.find(({ id }) => id === name) ??
      commands.find(({ value }) => value.aliases?.includes(name)) ??
      commands.find(({ id }) => menuName(id) === name)
    );
  }

  function parse(text: string): ParsedCommand | undefined {
    const written = commandIn(text);
    if (!written) return undefined;
    const found = find(written.name);
    return { ...written, name: found?.id ?? written.name, urgent: found?.value.urgent === true };
  }

  async function run(
    { name, text }: ParsedCommand,
    call: Parameters<ChatCommands["run"]>[1],
  ): Promise<ChatCommandOutcome> {
    if (name === "") return { message: text };
    const found = find(name);
    if (!found) return { reply: unknownText(name, all()) };
    const { scope = DEFAULT_SCOPE } = found.value;
    if (!coversScope(call.principal.scopes, scope)) return { reply: scopeText(found.id, scope) };
    try {
      return await view.call(found, (command) => command.run({ ...call, name: found.id, text }));
    } catch (error) {
      if (!isGatewayError(error)) {
        log.warn({ err: error, command: found.id, plugin: found.plugin }, "a chat command failed");
        return { reply: `/${found.id} failed; the reason is in the log of the gateway: svc logs` };
      }
      if (error.code === "INVALID_REQUEST" || ERRORS[error.code].retry) throw error;
      return { reply: error.message };
    }
  }

  return {
    list: () =>
      all()
        .map(({ id, value: { summary, usage, aliases = [], scope = DEFAULT_SCOPE } }) => ({
          name: id,
          summary,
          ...(usage === undefined ? {} : { usage }),
          ...(aliases.length === 0 ? {} : { aliases }),
          scope,
        }))
        .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    parse,
    run,
  };
}

const menuName = (id: string) => id.replaceAll("-", "_");

function unknownText(name: string, known: readonly Found[]): string {
  const names = known.flatMap(({ id, value }) => [id, ...(value.aliases ?? [])]);
  const near = nearestName(name, names);
  return [
    `Unknown command /${name}.`,
    ...(near === undefined ? [] : [`Did you mean /${near}?`]),
    "/help lists all commands.",
    `To send the text to the agent, begin it with //${name}.`,
  ].join(" ");
}

function scopeText(name: string, scope: Scope): string {
  if (scope === DEFAULT_SCOPE)
    return `Only people the agent works for can use /${name}. The owner of this gateway can add you: /whoami shows your id (scope ${scope}).`;
  if (scope !== "operator.admin") return `/${name} needs the scope ${scope}, which you do not have.`;
  return `Only the owner of this gateway can use /${name}, as a client with operator.admin: svc chat.`;
}
