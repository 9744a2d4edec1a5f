/** Agents: who they are, their runs from acceptance to outcome, and the tools they may use. */
import { agentEvent, agents, type Denial, definePlugin, HOOKS, optional, sessions } from "@svc/sdk";
import { AgentDirectory, AgentRuns, GatewayInfo, Models, Sessions, Storage, Tool } from "@svc/sdk/services";
import { AgentsConfig } from "./config.ts";
import { createDirectory } from "./directory.ts";
import { createHandlers } from "./methods.ts";
import { RunStore } from "./run-store.ts";
import { Runs } from "./runs.ts";
import { ToolBox } from "./tools.ts";

/** Choice: milliseconds a session may take to fall silent before its reset is refused. */
const REPLACE_WAIT_MS = 15_000;
/** Choice: runs start this many milliseconds after the plugin, should nobody say that the host is ready. */
const OPEN_AFTER_MS = 1_000;

export default definePlugin({
  id: "agents",
  api: "^1.0.0",
  config: AgentsConfig,
  requires: { storage: Storage, sessions: Sessions, models: Models, host: optional(GatewayInfo) },
  provides: [AgentRuns, AgentDirectory],

  setup(gateway) {
    const { clock, config, log, services } = gateway;
    const directory = createDirectory(config);
    const tools = new ToolBox({
      tools: gateway.own(Tool),
      hooks: {
        params: gateway.emits(HOOKS.toolParams),
        before: gateway.emits(HOOKS.toolBefore),
        result: gateway.emits(HOOKS.toolResult),
      },
      log,
    });
    const runEvent = gateway.emits(HOOKS.runEvent);
    const runs = new Runs(
      {
        services,
        store: new RunStore(services),
        agents: directory,
        tools,
        promptHook: gateway.emits(HOOKS.runPrompt),
        defaults: config.defaults,
        clock,
        log,
      },
      { before: gateway.emits(HOOKS.runBefore), finished: gateway.emits(HOOKS.runFinished) },
      { trace: (event) => runEvent.emit(event), broadcast: gateway.event(agentEvent), now: () => clock.now() },
    );
    gateway.provide(AgentRuns, runs);
    gateway.provide(AgentDirectory, directory);
    gateway.serve(
      agents,
      createHandlers({
        services,
        agents: directory,
        runs,
        log,
        findSession: async (sessionId, principal) =>
          (await gateway.call(sessions.resolve, { sessionId }, { principal })).key,
      }),
    );

    gateway.hooks.sessionReplacing.tapPromise("agents", async ({ key, reason }): Promise<Denial | undefined> => {
      const isQuiet = await runs.abortSession(key, reason === "delete" ? "delete" : "reset", REPLACE_WAIT_MS);
      return isQuiet ? undefined : { allow: false, reason: `session ${key} is still active` };
    });

    // Runs left over from before a restart wait until the plugins whose tools they need have started.
    gateway.hooks.hostReady.tap("agents", () => runs.open());
    gateway.start(async () => {
      await runs.recover();
      if (services.host?.url !== undefined) runs.open();
      return () => runs.stop();
    });
    gateway.after(OPEN_AFTER_MS, () => runs.open());
  },
});
