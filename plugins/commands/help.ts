/** `/help [command]`. */
import { coversScope, invalidRequest } from "@svc/sdk";
import type { ChatCommandCall, ListedCommand } from "@svc/sdk/commands";
import { answering, type CommandSources, type CommandTable } from "./sources.ts";

const HINT = "Other texts go to the agent. To send it a text that begins with /word, write //word.";

export function helpCommands({ commands }: Pick<CommandSources, "commands">): CommandTable {
  return {
    help: {
      summary: "show this list, or one command",
      usage: "[command]",
      aliases: ["commands"],
      scope: "operator.read",
      ...answering(async (call) => helpText(commands, call)),
    },
  };
}

/** Choice: only the commands that the caller may use. @throws GatewayError `INVALID_REQUEST` for an unknown command */
function helpText({ list, parse }: CommandSources["commands"], { text, principal }: ChatCommandCall): string {
  const usable = list().filter(({ scope }) => coversScope(principal.scopes, scope));
  if (text === "") return [...usable.map(lineOf), HINT].join("\n");
  const wanted = text.replace(/^\//, "").toLowerCase();
  const called = parse(`/${wanted}`)?.name;
  const found = usable.find(({ name }) => name === called);
  return found ? lineOf(found) : invalidRequest(`there is no command /${wanted} for you; /help lists all commands`);
}

function lineOf({ name, usage, summary }: ListedCommand): string {
  return `/${name}${usage === undefined ? "" : ` ${usage}`}: ${summary}`;
}
