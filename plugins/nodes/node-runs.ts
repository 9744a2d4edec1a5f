/** Agent runs that nodes ask for: in which session, as whom, and how many. Spec: protocol/methods-node.md §3. */
import { type Live, type Logger, type Principal, unavailable } from "@svc/sdk";
import type { AgentRuns, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";

/** Choice: runs of one node that wait or run; one more is refused. */
export const MAX_RUNS = 32;

interface RunSources {
  readonly runs: Live<AgentRuns>;
  readonly sessions: Live<Sessions>;
  readonly log: Pick<Logger, "info">;
}

/** What is asked for. */
export type Asked = Pick<RunRequest, "runId" | "message" | "origin" | "images" | "thinking" | "timeoutMs">;

/** Who asks; `principal`: of its connection. */
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

  /** Whether there is anybody to run them. */
  get isPossible(): boolean {
    return this.#sources.runs.get() !== undefined && this.#sources.sessions.get() !== undefined;
  }

  /** Canonical. @throws GatewayError `INVALID_REQUEST` for a malformed one */
  sessionKey(key: string): string {
    return this.#sources.sessions.get()?.canonicalKey(key) ?? key;
  }

  /**
   * Resolves when it is accepted, or when the session takes no messages, which is logged.
   * @throws GatewayError `UNAVAILABLE` when it cannot be accepted now
   */
  async start({ nodeId, principal }: Asker, sessionKey: string, asked: Asked): Promise<void> {
    const [runs, sessions] = [this.#sources.runs.get(), this.#sources.sessions.get()];
    if (!runs || !sessions) return unavailable("no agents run in this gateway now; see: svc plugins list");
    if (sessions.sendPolicy(sessionKey, await sessions.get(sessionKey)) === "deny") {
      return this.#sources.log.info({ nodeId, sessionKey }, "the send policy of a session refused a node");
    }
    const active = this.#active.get(nodeId) ?? new Set();
    if (active.size >= MAX_RUNS) {
      unavailable(`${MAX_RUNS} runs of this node wait already; send it again when some have ended`, {
        retryAfterMs: 5_000,
      });
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

  /** To be called at the end of every run. */
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

/** Whom a run that a node asked for acts for: never an owner, and dead with what let the node in. */
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
