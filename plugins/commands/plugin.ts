/** Commands in chats: finds them for `chat.send` and for channels, runs those of all plugins, and brings the usual ones. */
import { definePlugin, live } from "@svc/sdk";
import { AgentRuns } from "@svc/sdk/agents";
import { ChatCommand, ChatCommands, commands as contract } from "@svc/sdk/commands";
import { ConfigStore } from "@svc/sdk/config";
import { GatewayInfo, Restarts } from "@svc/sdk/gateway";
import { Models } from "@svc/sdk/models";
import { Sessions } from "@svc/sdk/sessions";
import { UsageRecords } from "@svc/sdk/usage";
import { builtinCommands } from "./builtin.ts";
import { createMenu } from "./menu.ts";
import { createChatCommands } from "./service.ts";

export default definePlugin({
  id: "commands",
  api: "^1.0.0",
  // Live: without one of them, the commands that need it say so.
  requires: {
    sessions: live(Sessions),
    runs: live(AgentRuns),
    models: live(Models),
    usage: live(UsageRecords),
    config: live(ConfigStore),
    restarts: live(Restarts),
    info: live(GatewayInfo),
  },
  provides: [ChatCommands],

  setup(gateway) {
    const { clock, log, services } = gateway;
    const commands = createChatCommands({ view: gateway.own(ChatCommand), log });
    gateway.provide(ChatCommands, commands);
    gateway.serve(contract, { list: createMenu(commands) });
    const sources = { ...services, clock, commands, call: gateway.call.bind(gateway) };
    for (const [name, command] of Object.entries(builtinCommands(sources))) gateway.extend(ChatCommand, name, command);
  },
});
