/** Agents on real directories and a real configuration file, without runs. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { notFound, type ParamsOf, type Principal, withDefaults } from "@svc/sdk";
import type { agents } from "@svc/sdk/agents";
import type { ConfigStore } from "@svc/sdk/config";
import { AgentAdmin, type AgentVersions } from "../../../../plugins/agents/directory/admin.ts";
import { AgentsConfig } from "../../../../plugins/agents/config.ts";
import { createDirectoryHandlers } from "../../../../plugins/agents/directory/methods.ts";
import { createLiveAgents, type LiveAgents } from "../../../../plugins/agents/directory/directory.ts";
import { agentOf, canonicalKey } from "../../../../plugins/sessions/keys-routing/keys.ts";
import { createConfigFile } from "./config-file.ts";
import { callOf } from "../script.ts";
import { temporaryDirectory } from "../temporary.ts";

type Agents = typeof agents;

export interface AdminOptions {
  /** The configuration file. */
  readonly file?: { readonly agents?: object; readonly bindings?: readonly object[] };
  /** Stands before the real `edit`. */
  readonly edit?: (real: ConfigStore["edit"]) => ConfigStore["edit"];
  /** Default: nothing is kept. */
  readonly versions?: (agents: LiveAgents) => AgentVersions;
  readonly archiveSessions?: (agentId: string, principal: Principal) => Promise<readonly string[]>;
}

const NOTHING_KEPT: AgentVersions = {
  change: (_change, write) => write(),
  created: () => Promise.resolve(),
  forget: () => Promise.resolve(),
};

export const NOW = Date.UTC(2026, 0, 31, 10);

export async function openAdmin(t: TestContext, { file = {}, edit, versions, archiveSessions }: AdminOptions = {}) {
  const directory = await temporaryDirectory(t);
  const places = { stateDir: join(directory, "state"), home: join(directory, "home") };
  await mkdir(places.stateDir, { mode: 0o700 });
  await mkdir(places.home);
  const live = createLiveAgents(withDefaults(AgentsConfig, file.agents ?? {}), () => places);
  const config = await createConfigFile(join(places.stateDir, "svc.json"), file, (next) => live.replace(next));
  const warnings: object[] = [];
  const kept = versions?.(live) ?? NOTHING_KEPT;
  const models = {
    resolve: (ref = "p/one") =>
      ref === "p/none" ? notFound("no model") : { provider: "p", id: ref.slice(2), name: "", api: "", reasoning: true },
  };
  const admin = new AgentAdmin({
    agents: live,
    config: { edit: edit?.(config.store.edit) ?? config.store.edit },
    models,
    places: () => places,
    clock: { now: () => NOW },
    log: { warn: (fields) => void warnings.push(fields) },
    archiveSessions: archiveSessions ?? (async () => []),
    versions: kept,
    forgetFiles: async () => undefined,
  });
  const rules = () => ({ defaultAgentId: live.defaultId, mainKey: "main", scope: "per-sender" as const });
  const sessions = {
    defaults: () => ({
      defaultAgentId: live.defaultId,
      mainKey: "main",
      mainSessionKey: "agent:main:main",
      scope: "per-sender" as const,
    }),
    canonicalKey: (key: string) => canonicalKey(key, rules()),
    agentOf: (key: string) => agentOf(key, rules()),
  };
  const handlers = createDirectoryHandlers({
    panelBase: () => "",
    services: { sessions, models },
    agents: live,
    admin,
    places: () => places,
    identityFiles: kept,
    pull: async () => undefined,
    written: async () => undefined,
  });
  return {
    ...places,
    config,
    live,
    warnings,
    at: (...steps: string[]) => join(places.home, ...steps),
    /** Puts a file into the state directory or home. */
    put: async (path: string, content: string | Buffer) => {
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, content);
    },
    list: async () => handlers.list(callOf({})),
    identity: async (params: ParamsOf<Agents["identity"]>) => handlers.identity(callOf(params)),
    create: async (params: ParamsOf<Agents["create"]>) => handlers.create(callOf(params)),
    update: async (params: ParamsOf<Agents["update"]>) => handlers.update(callOf(params)),
    delete: async (params: ParamsOf<Agents["delete"]>) => handlers.delete(callOf(params)),
    filesList: async (agentId: string) => handlers.filesList(callOf({ agentId })),
    filesGet: async (agentId: string, name: string) => handlers.filesGet(callOf({ agentId, name })),
    filesSet: async (agentId: string, name: string, content: string) =>
      handlers.filesSet(callOf({ agentId, name, content })),
  };
}
