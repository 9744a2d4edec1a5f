/** Agents: their settings and files, their runs from acceptance to outcome, and the tools they may use. */
import { homedir } from "node:os";
import { ownerOf, whenLeaving } from "@svc/kit/ownership";
import { definePlugin, type Denial, HOOKS, isGatewayError, lazy, live } from "@svc/sdk";
import {
  AgentDirectory,
  agentEvent,
  AgentIdentities,
  AgentRuns,
  agents,
  Files,
  IdentityFiles,
  type RunEvent,
} from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { ConfigStore } from "@svc/sdk/config";
import { Credentials, GatewayInfo, panelBasePath, Peers } from "@svc/sdk/gateway";
import { ImageDescriptions } from "@svc/sdk/media";
import { ModelPolicy, Models } from "@svc/sdk/models";
import { sessions, Sessions } from "@svc/sdk/sessions";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { Tool, Tools } from "@svc/sdk/tools";
import { lazySetupPart, SetupPart } from "@svc/sdk/wizard";
import { AgentAdmin } from "./directory/admin.ts";
import { createIdentities } from "./directory/identities.ts";
import { createSessionArchive } from "./directory/session-archive.ts";
import { AgentsConfig, QueueConfig } from "./config.ts";
import { createDirectoryHandlers } from "./directory/methods.ts";
import { createLiveAgents, createModelPolicy } from "./directory/directory.ts";
import type { Environment } from "./runs/environment.ts";
import { createRunHandlers } from "./runs/methods.ts";
import { createPreviewHandler } from "./runs/prompt-preview.ts";
import { RUN_RETENTION, RunStore } from "./runs/store.ts";
import { Runs } from "./runs/runs.ts";
import { createSessionTools } from "./subagents/session-tools.ts";
import { createSubagentTools } from "./subagents/tools.ts";
import { emptyTrash } from "./directory/trash.ts";
import { createWorkspacePrompt, sharePrompts } from "./directory/workspace-prompt.ts";
import { createVersionHandlers } from "./versions/methods.ts";
import { VERSION_RETENTION, VersionStore } from "./versions/store.ts";
import { IdentityVersions } from "./versions/versions.ts";

/** Choice: milliseconds the runs of a session may take to stop before its reset is refused. */
const REPLACE_WAIT_MS = 15_000;
/** Choice: delay in milliseconds after which runs start if the hook `hostReady` is not called. */
const OPEN_AFTER_MS = 1_000;
/** Choice: how many sessions with the same label `sessions_send` considers. */
const LABELLED = 50;
/** Choice: milliseconds between sweeps, which announce results and archive sessions of sub-runs. */
const SWEEP_EVERY_MS = 60_000;

/** Name of the message about an event of a run that another gateway has accepted. */
const RUN_EVENT = "agents/event";

const setupCode = lazy(() => import("./directory/setup-part.ts"));

export default definePlugin({
  id: "agents",
  api: "^1.0.0",
  config: AgentsConfig,
  sections: { "messages.queue": QueueConfig },
  requires: {
    storage: Storage,
    ownership: Ownership,
    sessions: Sessions,
    models: Models,
    host: GatewayInfo,
    peers: Peers,
    config: ConfigStore,
    credentials: Credentials,
    tools: live(Tools),
    delivery: live(Delivery),
    descriptions: live(ImageDescriptions),
    files: live(Files),
  },
  provides: [AgentRuns, AgentDirectory, AgentIdentities, ModelPolicy, IdentityFiles],

  setup(gateway) {
    const { clock, log, services } = gateway;
    const places = () => ({ stateDir: services.host.stateDir, home: homedir() });
    const directory = createLiveAgents(gateway.config, places);
    const panelBase = () => panelBasePath(services.host.panel);
    let queue = gateway.sections["messages.queue"];

    const versionStore = new VersionStore(services);
    const versions = new IdentityVersions({ store: versionStore, agents: directory, clock, log });
    const readPrompt = createWorkspacePrompt(directory, log);
    const prompts = sharePrompts(async (agentId) => {
      const prompt = await readPrompt(agentId);
      if (directory.has(agentId)) await versions.notice(agentId);
      return prompt;
    }, clock);
    /** A run goes on with the files of this gateway if they cannot be shared, e.g. because the plugin failed. */
    const sharing = async (agentId: string, work: (files: Files) => Promise<boolean | void>): Promise<boolean> => {
      try {
        const files = services.files.get();
        return files !== undefined && (await work(files)) === true;
      } catch (err) {
        log.warn({ err, agentId }, "the files of a workspace were not shared");
        return false;
      }
    };
    const shared = {
      async pull(agentId: string): Promise<void> {
        if (await sharing(agentId, (files) => files.pull(agentId))) prompts.forget();
      },
      push: async (agentId: string): Promise<void> => void (await sharing(agentId, (files) => files.push(agentId))),
    };
    const written = (agentId: string): Promise<void> => {
      prompts.forget();
      return shared.push(agentId);
    };
    const runEvent = gateway.emits(HOOKS.runEvent);
    const env: Environment = {
      services,
      store: new RunStore(services),
      nudge: (owner) => services.ownership.nudge(owner),
      freed: () => services.ownership.freed(),
      peers: services.peers,
      agents: directory,
      promptHook: gateway.emits(HOOKS.runPrompt),
      workspacePrompt: (agentId) => prompts.of(agentId),
      files: shared,
      descriptions: () => services.descriptions.get(),
      config: () => directory.config,
      clock,
      log,
    };
    const runs = new Runs(
      {
        ...env,
        queue: () => queue,
        delivery: () => services.delivery.get(),
        archiveSession: async (key) => void (await gateway.call(sessions.delete, { key })),
      },
      { before: gateway.emits(HOOKS.runBefore), finished: gateway.emits(HOOKS.runFinished) },
      {
        trace: (event) => runEvent.emit(event),
        passOn: (event) => services.peers.tell(RUN_EVENT, event),
        broadcast: gateway.event(agentEvent),
        agentOf: (key) => services.sessions.agentOf(key),
        now: () => clock.now(),
      },
    );
    gateway.configChanged((config, sections) => {
      directory.replace(config);
      prompts.forget();
      queue = sections["messages.queue"];
      runs.configChanged();
    });
    const admin = new AgentAdmin({
      agents: directory,
      config: services.config,
      models: services.models,
      places,
      clock,
      log,
      archiveSessions: createSessionArchive(services.sessions, (key, principal) =>
        gateway.call(sessions.delete, { key }, { principal }),
      ),
      versions,
      forgetFiles: async (agentId) => void (await sharing(agentId, (files) => files.forget(agentId))),
    });
    const workspace = lazySetupPart({ title: "Workspace", order: 150 }, async () =>
      (await setupCode()).createWorkspacePart({ agents: directory, places }),
    );
    gateway.extend(SetupPart, "workspace", workspace);
    gateway.provide(AgentRuns, runs);
    gateway.provide(AgentDirectory, directory);
    gateway.provide(AgentIdentities, createIdentities(directory, panelBase));
    gateway.provide(ModelPolicy, createModelPolicy(directory));
    gateway.provide(IdentityFiles, versions);
    gateway.serve(agents, {
      ...createDirectoryHandlers({
        services,
        agents: directory,
        admin,
        places,
        identityFiles: versions,
        panelBase,
        pull: shared.pull,
        written,
      }),
      ...createVersionHandlers({ agents: directory, store: versionStore, versions, pull: shared.pull, written }),
      ...createPreviewHandler({ ...env, workspacePrompt: (agentId) => readPrompt(agentId, true) }),
      ...createRunHandlers({
        services,
        agents: directory,
        runs,
        delivery: () => services.delivery.get(),
        clock,
        log,
        async findSession(sessionId, principal) {
          try {
            const found = await gateway.call(sessions.resolve, { sessionId }, { principal });
            return found.ok ? found.key : undefined;
          } catch (error) {
            if (isGatewayError(error) && error.code === "NOT_FOUND") return undefined;
            throw error;
          }
        },
      }),
    });

    const subagentTools = createSubagentTools({
      subagents: runs.subagents,
      abort: (runId, reason) => runs.abort(runId, reason),
    });
    const sessionTools = createSessionTools({
      runs,
      agents: directory,
      sessions: services.sessions,
      async labelled(label, principal) {
        const found = await gateway.call(sessions.list, { label, limit: LABELLED, includeGlobal: true }, { principal });
        return found.sessions.map(({ key }) => key);
      },
    });
    const tools = { ...subagentTools, ...sessionTools };
    for (const [name, tool] of Object.entries(tools)) gateway.extend(Tool, name, tool);
    gateway.busy(() => runs.isWorking);
    gateway.every(SWEEP_EVERY_MS, () => runs.sweep());
    gateway.extend(Retention, "agent-runs", RUN_RETENTION);
    gateway.extend(Retention, "agent-files", VERSION_RETENTION);
    gateway.extend(Retention, "trash", {
      files: ["trash"],
      holds: "workspaces and directories of deleted agents",
      rule: "30 days after the agent was deleted",
      clean: (dryRun) => emptyTrash(places().stateDir, clock.now(), dryRun),
    });

    gateway.hooks.sessionReplacing.tap(async ({ key, reason }): Promise<Denial | undefined> => {
      const isQuiet = await runs.abortSession(key, reason === "delete" ? "delete" : "reset", REPLACE_WAIT_MS);
      return isQuiet ? undefined : { allow: false, reason: `session ${key} is still active` };
    });

    // Runs from before a restart wait until the plugins whose tools they need have started.
    gateway.hooks.hostReady.tap(() => runs.open());
    gateway.hooks.hostStopping.tap(() => runs.gatewayStops(services.ownership.others > 0));
    whenLeaving(
      gateway,
      () => services.ownership,
      () => runs.handOver(),
    );
    gateway.hooks.credentialsEnded.tap(() => runs.credentialsEnded());
    gateway.start(async () => {
      await versionStore.open();
      await runs.recover(await ownerOf(gateway, services.ownership, () => runs.look()));
      if (services.host.url !== undefined) runs.open();
      const unanswer = services.peers.answer(RUN_EVENT, (event) => runs.heard(event as RunEvent)); // from `passOn`
      return () => {
        unanswer();
        return runs.stop();
      };
    });
    gateway.after(OPEN_AFTER_MS, () => runs.open());
  },
});
