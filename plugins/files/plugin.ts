/**
 * Shared files: the workspaces of agents are the same at all gateways on one state.
 *
 * `manifest.ts` has the versions of all files in the database, `objects.ts` their bytes in a directory or a bucket; `sync.ts` brings
 * one workspace up to date, and `shared-workspaces.ts` decides when.
 */
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory, Files, files } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { GatewayInfo, Peers } from "@svc/sdk/gateway";
import { Retention, Storage } from "@svc/sdk/storage";
import { FilesConfig, twoStores } from "./config.ts";
import { createManifest } from "./manifest.ts";
import { type Objects, objectsInBucket, objectsInDirectory } from "./objects.ts";
import { SharedWorkspaces } from "./shared-workspaces.ts";

/** Choice: milliseconds between two looks at files that somebody else than an agent may have changed. */
const LOOK_EVERY_MS = 30_000;
/** Choice: objects that are removed at a time. */
const MOST_REMOVED = 1_000;
/** Names of the messages about a workspace that has changed, and about files whose bytes are not in the store. */
const [CHANGED, LOST] = ["files/changed", "files/lost"];

export default definePlugin({
  id: "files",
  api: "^1.0.0",
  config: FilesConfig,
  requires: {
    storage: Storage,
    host: GatewayInfo,
    peers: Peers,
    agents: live(AgentDirectory),
    origins: live(FileOrigins),
  },
  configWarnings: twoStores,
  provides: [Files],

  setup(gateway) {
    const { clock, log, services, config } = gateway;
    const { directory, s3, maxFileBytes } = config;
    const inDirectory =
      directory === undefined ? undefined : () => objectsInDirectory(resolve(services.host.stateDir, directory));
    /** `undefined`: nothing is shared. */
    const openStore = s3 ? () => objectsInBucket(s3, clock) : inDirectory;
    const agents = () => services.agents.get()?.list() ?? [];
    const ending = new AbortController();
    const manifest = createManifest(services.storage, clock);
    let store: Objects | undefined;
    let workspaces: SharedWorkspaces | undefined;
    gateway.provide(Files, {
      pull: async (agentId) => workspaces?.pull(agentId) ?? false,
      push: async (agentId) => workspaces?.push(agentId),
      forget: async (agentId) => workspaces?.forget(agentId),
    });
    gateway.serve(files, {
      status: () => ({ ...(store && { store: store.place }), workspaces: workspaces?.status() ?? [] }),
    });

    /** Removes objects that nothing names, and forgets files that were deleted long ago. */
    async function clean(dryRun: boolean): Promise<number> {
      if (!store) return 0;
      const garbage = await manifest.garbage(MOST_REMOVED);
      if (!dryRun) {
        for (const name of garbage) await store.remove(name, ending.signal);
        if (garbage.length > 0) await manifest.removed(garbage);
      }
      return garbage.length + (await manifest.forgetDeleted(dryRun));
    }
    gateway.extend(Retention, "files", {
      tables: ["files_workspaces", "files_entries", "files_garbage"],
      files: ["plugins/files"],
      holds: "versions of shared workspace files; their bytes are in `files.directory` or the bucket `files.s3`",
      rule: "former versions one hour after they were replaced, names of deleted files after 90 days",
      clean,
    });
    if (!openStore) return;

    gateway.start(() => {
      const objects = (store = openStore());
      const shared = new SharedWorkspaces({
        manifest,
        objects,
        maxFileBytes,
        ignore: new Set(config.ignore),
        async keepOrigins(workspace, paths) {
          for (const { id } of agents().filter((agent) => agent.workspace === workspace))
            await services.origins.get()?.keep(id, paths);
        },
        gateway: hostname(),
        agents,
        baseFile: (agentId) => join(gateway.stateDir, `${agentId}.json`),
        isAlone: () => services.peers.self === undefined,
        announce: (agentId) => services.peers.tell(CHANGED, agentId),
        askFor: (agentId, paths) => services.peers.tell(LOST, { agentId, paths }),
        clock,
        log,
        signal: ending.signal,
      });
      workspaces = shared;
      const endings = [
        services.peers.answer(CHANGED, (agentId) => void shared.pull(String(agentId))),
        services.peers.answer(LOST, (lost) => {
          const { agentId, paths } = lost as { agentId: string; paths: string[] }; // from `askFor`
          void shared.restore(agentId, paths);
        }),
      ];
      return async () => {
        for (const end of endings) end();
        ending.abort();
        await shared.settled();
      };
    });
    let isLooking = false;
    const look = async () => {
      if (isLooking || ending.signal.aborted) return;
      isLooking = true;
      await workspaces?.pushAll().finally(() => (isLooking = false));
    };
    gateway.hooks.hostReady.tap(() => void look());
    gateway.every(LOOK_EVERY_MS, look);
  },
});
