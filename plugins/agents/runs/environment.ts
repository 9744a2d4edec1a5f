/** Services and settings that runs use. */
import type { Clock, HookEmitter, HOOKS, Live, Logger } from "@svc/sdk";
import type { Files, RunOutcome } from "@svc/sdk/agents";
import type { Credentials, Peers } from "@svc/sdk/gateway";
import type { ImageDescriptions } from "@svc/sdk/media";
import type { Models } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Storage } from "@svc/sdk/storage";
import type { Tools } from "@svc/sdk/tools";
import type { AgentsConfig } from "../config.ts";
import type { ConfiguredAgents } from "../directory/directory.ts";
import type { WorkspacePrompt } from "../directory/workspace-prompt.ts";
import type { LiveRun } from "./live-runs.ts";
import type { RunStore } from "./store.ts";

export interface Environment {
  readonly services: {
    readonly storage: Storage;
    readonly sessions: Sessions;
    readonly models: Models;
    readonly tools: Live<Tools>;
    readonly credentials: Pick<Credentials, "isLive">;
  };
  readonly agents: ConfiguredAgents;
  readonly promptHook: HookEmitter<typeof HOOKS.runPrompt>;
  /** The part of an agent's system prompt that comes from its workspace files. */
  readonly workspacePrompt?: (agentId: string) => Promise<WorkspacePrompt>;
  /** Gets the workspace files of other gateways, and gives them those of this one. Never rejects. Default: nothing is shared. */
  readonly files?: Pick<Files, "push"> & { pull(agentId: string): Promise<void> };
  /** The current service that describes pictures. Default: none. */
  readonly descriptions?: () => ImageDescriptions | undefined;
  /** The current section `agents`. */
  readonly config: () => AgentsConfig;
  readonly store: RunStore;
  /** Asks the gateway of an owner to look at its runs. */
  readonly nudge: (owner: string) => void;
  /** Asks all other gateways to look for runs that have become free. */
  readonly freed: () => void;
  readonly peers: Peers;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Callbacks of a turn to the queue of its session. */
export interface Ties {
  /** Announces the outcome of a run whose message was merged into another run; the outcome is already stored. */
  readonly tookOver: (run: LiveRun, outcome: RunOutcome) => void;
  /** Waiting runs whose messages should join the active turn, oldest first. */
  readonly steering: () => readonly LiveRun[];
}
