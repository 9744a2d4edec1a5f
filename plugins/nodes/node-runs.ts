/** Agent runs requested by nodes: their session, principal and limit. Spec: protocol/methods-node.md §3. */
import { type Live, type Logger, type Principal, unavailable } from "@svc/sdk";
import type { AgentRuns, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";

/** Choice: maximum pending and running runs of a node; further ones are refused. */
export const MAX_RUNS = 32;

interface RunSources {
  readonly runs: Live<AgentRuns>;
  readonly sessions: Live<Sessions>;
  readonly log: Pick<Logger, "info">;
}

/** The requested run. */
export type Asked = Pick<RunRequest, "runId" | "message" | "origin" | "images" | "thinking" | "timeoutMs">;

/** The requesting node, with the principal of its connection. */
export interface Asker {
  readonly nodeId: string;
  readonly principal: Principal;
}

export class NodeRuns {
  readonly #sources: RunSources;
  /** Runs that have not ended, by node. */
  readonly #active = new Map<string, Set<string>>();

  constructor(sources: RunSources) {
    this.#sources = sources;
  }

  /** Whether the services for agent runs and sessions are available. */
  get isPossible(): boolean {
    return this.#sources.runs.get() !== undefined && this.#sources.sessions.get() !== undefined;
  }

  /** The canonical key. @throws GatewayError `INVALID_REQUEST`: malformed key */
  sessionKey(key: string): string {
    return this.#sources.sessions.get()?.canonicalKey(key) ?? key;
  }

  /**
   * Resolves when the run is accepted, or when the session's send policy denies it, which is logged.
   * @throws GatewayError `UNAVAILABLE`: the run cannot be accepted now
   */
  async start({ nodeId, principal }: Asker, sessionKey: string, asked: Asked): Promise<void> {
    const [runs, sessions] = [this.#sources.runs.get(), this.#sources.sessions.get()];
    if (!runs || !sessions) return unavailable("no plugin runs agents in this gateway now; see: svc plugins list");
    if (sessions.sendPolicy(sessionKey, await sessions.get(sessionKey)) === "deny") {
      return this.#sources.log.info({ nodeId, sessionKey }, "the send policy of a session refused a run of a node");
    }
    const active = this.#active.get(nodeId) ?? new Set();
    if (active.size >= MAX_RUNS) {
      unavailable(
        `${MAX_RUNS} runs of this node have not ended yet; send the event again when some of them have ended`,
        {
          retryAfterMs: 5_000,
        },
      );
    }
    this.#active.set(nodeId, active.add(asked.runId));
    try {
      await sessions.ensure(sessionKey);
      await runs.start({ ...asked, sessionKey, source: "node", principal: runPrincipal({ nodeId, principal }) });
    } catch (error) {
      this.ended(asked.runId);
      throw error;
    }
  }

  /** Must be called at the end of every run. */
  ended(runId: string): void {
    for (const [nodeId, active] of this.#active) {
      if (active.delete(runId) && active.size === 0) this.#active.delete(nodeId);
    }
  }
}

/** Spec: http/sessions-routing.md §2, "node-originated". */
export function ownSession(nodeId: string): string {
  return `node-${nodeId}`;
}

/** Principal of a run requested by a node: never an owner, and it ends with the credential that admitted the node. */
export function runPrincipal({ nodeId, principal }: Asker): Principal {
  const { id, provenance, epoch, onShared = provenance !== "device" } = principal;
  return {
    id,
    role: "operator",
    scopes: ["operator.read", "operator.write"],
    provenance: "device",
    epoch,
    device: nodeId,
    ...(onShared && { onShared }),
  };
}
