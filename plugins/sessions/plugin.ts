/** Sessions: conversations and their transcripts, the `Sessions` service, `sessions.*` and two tools. */
import {
  type ConnectionInfo,
  definePlugin,
  HOOKS,
  invalidRequest,
  live,
  misconfigured,
  sessions,
  Strict,
  Type,
  WEB_PANEL_CLIENT_ID,
} from "@svc/sdk";
import { AgentDirectory, Models, Sessions, Storage, Tool } from "@svc/sdk/services";
import type { ModelDefaults } from "./entries.ts";
import { canonicalKey, isSpecial, mainSessionKey } from "./keys.ts";
import { createLifecycle } from "./lifecycle.ts";
import { listSessions } from "./listing.ts";
import { previewSessions } from "./previews.ts";
import { resolveSession } from "./resolving.ts";
import { createSessions } from "./service.ts";
import { SessionStore } from "./store.ts";
import { sessionsListTool, sessionStatusTool } from "./tools.ts";

const SessionConfig = Strict({
  scope: Type.Union([Type.Literal("per-sender"), Type.Literal("global")], {
    default: "per-sender",
    description: "global: every main session is the one session `global`",
  }),
  mainKey: Type.String({
    default: "main",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    description: "Name of the main session in `agent:<id>:<mainKey>`; compared lower-case",
  }),
});

/** Agent that keys belong to while no plugin says which one is the default. Spec: sessions-routing.md §1. */
const FALLBACK_AGENT_ID = "main";

export default definePlugin({
  id: "sessions",
  api: "^1.0.0",
  section: "session",
  config: SessionConfig,
  requires: { storage: Storage, agents: live(AgentDirectory), models: live(Models) },
  provides: [Sessions],

  setup(gateway) {
    const { clock, services } = gateway;
    const { scope } = gateway.config;
    const mainKey = gateway.config.mainKey.toLowerCase();
    if (isSpecial(mainKey))
      misconfigured("/mainKey", `"${mainKey}" is the key of another session; choose another name`);

    const rules = () => ({ defaultAgentId: services.agents.get()?.defaultId ?? FALLBACK_AGENT_ID, mainKey, scope });
    const canonical = (key: string) => canonicalKey(key, rules());
    const modelDefaults = () => defaultsOf(services.models.get());
    const store = new SessionStore({ storage: () => services.storage, clock });
    const lifecycle = createLifecycle({
      store,
      clock,
      hooks: {
        replacing: gateway.emits(HOOKS.sessionReplacing),
        started: gateway.emits(HOOKS.sessionStarted),
        ended: gateway.emits(HOOKS.sessionEnded),
      },
      modelDefaults,
      mainSessionKey: () => mainSessionKey(rules()),
    });
    const service = createSessions(store, lifecycle, rules);

    gateway.provide(Sessions, service);
    gateway.start(() => store.open(mainKey));

    // Web clients cannot match `chat` events to their session without it. Spec: protocol/clients.md "hello-ok".
    gateway.hooks.hello.tap("session defaults", (snapshot) => ({ ...snapshot, sessionDefaults: service.defaults() }));

    gateway.serve(sessions, {
      list: ({ params }) => listSessions(store, params, { now: clock.now(), defaults: modelDefaults() }),
      preview: ({ params }) => previewSessions(store, params, { now: clock.now(), canonicalKey: canonical }),
      resolve: async ({ params }) => ({ ok: true as const, key: await resolveSession(store, params, canonical) }),

      async reset({ params }) {
        const key = canonical(params.key);
        return { ok: true as const, key, entry: await lifecycle.reset(key, params.reason ?? "reset") };
      },

      async delete({ params, connection }) {
        refuseWebchat(connection);
        const key = canonical(params.key);
        const { deleteTranscript = true, emitLifecycleHooks = true } = params;
        const { deleted, archived } = await lifecycle.delete(key, {
          archive: deleteTranscript,
          announce: emitLifecycleHooks,
        });
        return { ok: true as const, key, deleted, archived };
      },
    });

    const tools = { store, sessions: service, clock, modelDefaults };
    gateway.extend(Tool, "session_status", sessionStatusTool(tools));
    gateway.extend(Tool, "sessions_list", sessionsListTool(tools));
  },
});

/** Web chats are for visitors; the control panel uses the same mode. Spec: methods-sessions.md §7. */
function refuseWebchat(connection: ConnectionInfo | undefined): void {
  const client = connection?.client;
  if (client?.mode !== "webchat" || client.id === WEB_PANEL_CLIENT_ID) return;
  invalidRequest("webchat clients cannot delete sessions; use the control panel or the command line");
}

/** The default model; nulls while there is none, so that sessions can be listed without a model. */
function defaultsOf(models: Models | undefined): ModelDefaults {
  try {
    const model = models?.resolve();
    return {
      modelProvider: model?.provider ?? null,
      model: model?.id ?? null,
      contextTokens: model?.contextWindow ?? null,
    };
  } catch {
    return { modelProvider: null, model: null, contextTokens: null };
  }
}
