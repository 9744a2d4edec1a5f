/** Sessions: conversations and their transcripts, the services `Sessions` and `UsageRecords`, `sessions.*`, and the session tools. */
import { machineZone } from "@svc/kit/time";
import { definePlugin, HOOKS, live, misconfigured } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { ChatCommands } from "@svc/sdk/commands";
import { Peers } from "@svc/sdk/gateway";
import { Importer } from "@svc/sdk/import";
import { modelDefaults as defaultsOf, ModelPolicy, Models } from "@svc/sdk/models";
import { sessions, Sessions, sessionsChanged, sessionsWatch } from "@svc/sdk/sessions";
import { Retention as RetentionPoint, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { UsageRecords } from "@svc/sdk/usage";
import { AgentToAgent, Bindings, SessionConfig, SessionTools, type Settings } from "./config.ts";
import { createCreate } from "./creating/create-session.ts";
import { createImporters } from "./importing.ts";
import { agentOf, isSpecial, mainSessionKey } from "./keys-routing/keys.ts";
import { listSessions } from "./finding/listing.ts";
import { createLifecycle } from "./lifecycle/lifecycle.ts";
import { createMaintenance } from "./lifecycle/maintenance.ts";
import { Retention } from "./lifecycle/retention.ts";
import { createHandlers } from "./methods.ts";
import { createPatch } from "./patching/patch-session.ts";
import { createSessions } from "./service.ts";
import { createDamageLog } from "./store/damage.ts";
import type { DefaultsOf } from "./store/entries.ts";
import { SessionStore } from "./store/store.ts";
import { sessionsHistoryTool } from "./tools/history-tool.ts";
import { createReaching } from "./tools/reaching.ts";
import { sessionsListTool, sessionStatusTool } from "./tools/tools.ts";
import { Transcripts } from "./transcripts/transcripts.ts";
import { createUsageRecords } from "./usage-facts/usage-records.ts";
import { CHANGED, createChanges } from "./watching/changes.ts";
import { createSubscribers } from "./watching/subscribers.ts";
import { createWatchHandlers } from "./watching/methods.ts";

/** Default agent when no plugin provides agents. Spec: sessions-routing.md §1. */
const FALLBACK_AGENT_ID = "main";

export default definePlugin({
  id: "sessions",
  api: "^1.0.0",
  section: "session",
  config: SessionConfig,
  sections: { bindings: Bindings, "tools.sessions": SessionTools, "tools.agentToAgent": AgentToAgent },
  requires: {
    storage: Storage,
    peers: Peers,
    agents: live(AgentDirectory),
    models: live(Models),
    policy: live(ModelPolicy),
    runs: live(AgentRuns),
    commands: live(ChatCommands),
  },
  provides: [Sessions, UsageRecords],

  setup(gateway) {
    const { clock, log, services } = gateway;
    const settingsOf = (session: SessionConfig, sections: typeof gateway.sections): Settings => ({
      session,
      bindings: sections.bindings,
      reach: { ...sections["tools.sessions"], agentToAgent: sections["tools.agentToAgent"] },
    });
    let settings = settingsOf(gateway.config, gateway.sections);
    const { scope } = gateway.config;
    const mainKey = gateway.config.mainKey.toLowerCase();
    if (isSpecial(mainKey))
      misconfigured("/mainKey", `"${mainKey}" is the key of another session; choose another name`);

    const storage = () => services.storage;
    const rules = () => ({ defaultAgentId: services.agents.get()?.defaultId ?? FALLBACK_AGENT_ID, mainKey, scope });
    const mainSession = () => mainSessionKey(rules());
    const agentIdOf = (key: string) => agentOf(key, rules());
    const modelDefaults: DefaultsOf = (key) =>
      defaultsOf(services.models.get(), key === undefined ? key : agentIdOf(key));
    const damage = createDamageLog(log);
    const changes = createChanges({ clock, log, peers: () => services.peers });
    const { changed } = changes;
    const store = new SessionStore({ storage, clock, damage, changed });
    const transcripts = new Transcripts({ storage, clock, damage, changed });
    const lifecycle = createLifecycle({
      store,
      clock,
      hooks: {
        replacing: gateway.emits(HOOKS.sessionReplacing),
        started: gateway.emits(HOOKS.sessionStarted),
        ended: gateway.emits(HOOKS.sessionEnded),
      },
      modelDefaults,
      mainSessionKey: mainSession,
      config: () => settings.session,
      timeZone: () => services.agents.get()?.timeZone ?? machineZone(),
    });
    const reaching = createReaching({ store, rules, reach: () => settings.reach });
    const models = (key: string) => ({
      models: services.models.get(),
      policy: services.policy.get(),
      agentId: agentIdOf(key),
    });
    const activeRuns = (key: string) => services.runs.get()?.active(key) ?? [];
    const isMain = (key: string) => key === mainSessionKey(rules(), agentIdOf(key));
    const contextOf = (key: string) => ({ ...models(key), isMain: isMain(key), isActive: activeRuns(key).length > 0 });
    const patch = createPatch({ store, lifecycle, clock, contextOf });
    const listing = () => ({ now: clock.now(), modelDefaults, rules: rules(), activeRuns });
    const service = createSessions({
      store,
      transcripts,
      lifecycle,
      reaching,
      rules,
      settings: () => settings,
      agents: () => services.agents.get(),
      listing,
      follow: changes.follow,
    });
    const subscribers = createSubscribers({ clock, log, sessions: service, emit: gateway.event(sessionsChanged) });
    const maintain = createMaintenance({
      retention: new Retention(storage),
      lifecycle,
      clock,
      log,
      config: () => settings.session.maintenance,
      isMain,
      isActive: (key) => activeRuns(key).length > 0,
      signal: gateway.signal,
    });

    gateway.provide(Sessions, service);
    gateway.provide(UsageRecords, createUsageRecords({ storage, damage, transcripts, rules }));
    gateway.start(async () => {
      await store.open(mainKey);
      return services.peers.answer(CHANGED, async (told) => changes.heard(told));
    });
    changes.follow((change) => subscribers.changed(change));
    gateway.hooks.connectionClosed.tap(({ id }) => subscribers.delete(id));
    gateway.hooks.runEvent.tap(({ sessionKey: key, runId, stream, data, outcome, isForeign }) => {
      const phase = outcome ? "end" : stream === "lifecycle" && data["phase"] === "start" ? "start" : undefined;
      if (phase && !isForeign) changed({ key, reason: "run", run: { runId, phase } });
    });
    gateway.configChanged((session, sections) => {
      settings = settingsOf(session, sections);
    });
    gateway.extend(RetentionPoint, "sessions", {
      tables: ["sessions", "transcript", "message_facts", "archives", "compactions"],
      holds: "conversations and their archived transcripts",
      rule: "30 days without use, except main sessions; archived transcripts: 30 days (session.maintenance)",
      clean: maintain,
    });

    for (const [kind, importer] of Object.entries(createImporters({ storage, rules, damage })))
      gateway.extend(Importer, kind, importer);

    // Web clients need it to match `chat` events to their session. Spec: protocol/clients.md "hello-ok".
    gateway.hooks.hello.tap((snapshot) => ({ ...snapshot, sessionDefaults: service.defaults() }));

    gateway.serve(
      sessions,
      createHandlers({
        store,
        transcripts,
        lifecycle,
        modelDefaults,
        patch,
        create: createCreate({ store, lifecycle, clock, rules, agents: () => services.agents.get(), contextOf }),
        sending: {
          runs: services.runs,
          commands: services.commands,
          mayAnswer: ({ key, entry }) => service.sendPolicy(key, entry) === "allow",
        },
        listing,
      }),
    );

    gateway.serve(
      sessionsWatch,
      createWatchHandlers(subscribers, (params) => listSessions({ store, transcripts }, params, listing())),
    );

    const tools = { store, transcripts, sessions: service, reaching, patch, clock, modelDefaults, mainKey };
    gateway.extend(Tool, "session_status", sessionStatusTool(tools));
    gateway.extend(Tool, "sessions_list", sessionsListTool(tools));
    gateway.extend(Tool, "sessions_history", sessionsHistoryTool(tools));
  },
});
