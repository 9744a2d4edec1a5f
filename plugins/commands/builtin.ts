/** All commands of this plugin. */
import { conversationCommands } from "./conversation.ts";
import { helpCommands } from "./help.ts";
import type { CommandSources, CommandTable } from "./sources.ts";

export function builtinCommands(sources: CommandSources): CommandTable {
  return { ...helpCommands(sources), ...conversationCommands(sources) };
}
