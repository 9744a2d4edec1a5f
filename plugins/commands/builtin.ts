/** All commands of this plugin. */
import { conversationCommands } from "./conversation.ts";
import { gatewayCommands } from "./gateway.ts";
import { helpCommands } from "./help.ts";
import { modelCommands } from "./model.ts";
import { policyCommands } from "./policy.ts";
import type { CommandSources, CommandTable } from "./sources.ts";
import { usageCommands } from "./usage.ts";

export function builtinCommands(sources: CommandSources): CommandTable {
  return {
    ...helpCommands(sources),
    ...conversationCommands(sources),
    ...modelCommands(sources),
    ...usageCommands(sources),
    ...policyCommands(sources),
    ...gatewayCommands(sources),
  };
}
