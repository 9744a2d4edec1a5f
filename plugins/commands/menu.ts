/** Handler of `commands.list`: the commands for a menu. */
import { coversScope, type Handler } from "@svc/sdk";
import type { ChatCommands, commands } from "@svc/sdk/commands";

export function createMenu({ list }: Pick<ChatCommands, "list">): Handler<typeof commands.list> {
  return ({ principal, params: { includeArgs = true } }) => ({
    commands: list()
      .filter(({ scope }) => coversScope(principal.scopes, scope))
      .map(({ name, summary, usage, aliases = [] }) => ({
        name,
        textAliases: [name, ...aliases].map((word) => `/${word}`),
        description: summary,
        acceptsArgs: usage !== undefined,
        ...(usage === undefined || !includeArgs ? {} : { usage }),
        scope: "text" as const,
        source: "plugin" as const,
      })),
  });
}
