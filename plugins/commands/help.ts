/** `/help [command]`. */
import { coversScope, invalidRequest } from "@svc/sdk";
import type { ChatCommandCall, ListedCommand } from "@svc/sdk/commands";
import { answering, type CommandSources, type CommandTable } from "./sources.ts";

export function helpCommands({ list }: Pick<CommandSources, "list">): CommandTable {
  return {
    help: {
      summary: "show this list, or one command",
      usage: "[command]",
      aliases: ["commands"],
      scope: "operator.read",
      ...answering(async (call) => helpText(list(), call)),
    },
  };
}

/** Choice: only the commands that the caller may use. @throws GatewayError `INVALID_REQUEST` for an unknown command */
function helpText(all: readonly ListedCommand[], { text, principal }: ChatCommandCall): string {
  const usable = all.filter(({ scope }) => coversScope(principal.scopes, scope));
  if (text === "") return [...usable.map(lineOf), "Anything else goes to the agent."].join("\n");
  const wanted = text.replace(/^\//, "").toLowerCase();
  const found = usable.find(({ name }) => name === wanted);
  return found ? lineOf(found) : invalidRequest(`there is no command /${wanted} for you; /help lists all commands`);
}

function lineOf({ name, usage, summary }: ListedCommand): string {
  return `/${name}${usage === undefined ? "" : ` ${usage}`}: ${summary}`;
}
