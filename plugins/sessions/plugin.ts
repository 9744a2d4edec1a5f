/** Sessions: conversations and their transcripts, the services `Sessions` and `UsageRecords`, `sessions.*`, and the session tools. */
import { machineZone } from "@svc/kit/time";
import { definePlugin, HOOKS, isGatewayError, live, misconfigured } from "@svc/sdk";
import { AgentDirectory, AgentRuns } from "@svc/sdk/agents";
import { Importer } from "@svc/sdk/import";
import { ModelPolicy, Models } from "@svc/sdk/models";
import { sessions, Sessions } from "@svc/sdk/sessions";
import { Retention as RetentionPoint, Storage } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { UsageRecords } from "@svc/sdk/usage";
import { AgentToAgent, Bindings, SessionConfig, SessionTools, type Settings } from "./config.ts";
import { createImporters } from "./importing.ts";
import { agentOf, canonicalKey, isSpecial, mainSessionKey } from "./keys-routing/keys.ts";
import { createLifecycle } from "./lifecycle/lifecycle.ts";
import { createMaintenance } from "./lifecycle/maintenance.ts";
import { Retention } from "./lifecycle/retention.ts";
import { createHandlers } from "./methods.ts";
import { createPatch } from "./patching/patch-session.ts";
import { createSessions } from "./service.ts";
import { createDamageLog } from "./store/damage.ts";
import type { DefaultsOf, ModelDefaults } from "./store/entries.ts";
import { SessionStore } from "./store/store.ts";
import { sessionsHistoryTool } from "./tools/history-tool.ts";
import { createReaching } from "./tools/reaching.ts";
import { sessionsListTool, sessionStatusTool } from "./tools/tools.ts";
import { Transcripts } from "./transcripts/transcripts.ts";
import { createUsageRecords } from "./usage-facts/usage-records.ts";

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
    agents: live(AgentDirectory),
    models: live(Models),
    policy: live(ModelPolicy),
    runs: live(AgentRuns),
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
    const canonical = (key: string) => canonicalKey(key, rules());
    const mainSession = () => mainSessionKey(rules());
    const agentIdOf = (key: string) => agentOf(key, rules());
    const modelDefaults: DefaultsOf = (key) =>
      defaultsOf(services.models.get(), key === undefined ? key : agentIdOf(key));
    const damage = createDamageLog(log);
    const store = new SessionStore({ storage, clock, damage });
    const transcripts = new Transcripts({ storage, clock, damage });
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
    const patch = createPatch({ store, lifecycle, clock, models });
    const service = createSessions({
      store,
      transcripts,
      lifecycle,
      reaching,
      rules,
      settings: () => settings,
      agents: () => services.agents.get(),
    });
    const isActive = (key: string) => (services.runs.get()?.active(key).length ?? 0) > 0;
    const maintain = createMaintenance({
      retention: new Retention(storage),
      lifecycle,
      clock,
      log,
      config: () => settings.session.maintenance,
      isMain: (key) => key === mainSessionKey(rules(), key.split(":")[1]),
      isActive,
      signal: gateway.signal,
    });

    gateway.provide(Sessions, service);
    gateway.provide(UsageRecords, createUsageRecords({ storage, damage, transcripts, rules }));
    gateway.start(() => store.open(mainKey));
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
        clock,
        canonicalKey: canonical,
        modelDefaults,
        patch,
        isActive,
      }),
    );

    const tools = { store, transcripts, sessions: service, reaching, patch, clock, modelDefaults, mainKey };
    gateway.extend(Tool, "session_status", sessionStatusTool(tools));
    gateway.extend(Tool, "sessions_list", sessionsListTool(tools));
    gateway.extend(Tool, "sessions_history", sessionsHistoryTool(tools));
  },
});

/** The default model of the agent; nulls without one, so that sessions can still be listed. */
function defaultsOf(models: Models | undefined, agentId: string | undefined): ModelDefaults {
  try {
    const model = models?.resolve(undefined, agentId);
    return {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { modelProvider: null, model: null, contextTokens: null };
  }
}
