/** Sub-runs: starts them within limits, announces their results, and archives their sessions. Spec: http/sessions-routing.md §1, §6. */
import { randomUUID } from "node:crypto";
import {
  type Clock,
  invalidRequest,
  type Logger,
  notFound,
  type Origin,
  originOf,
  type Principal,
  unavailable,
} from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { Credentials } from "@svc/sdk/gateway";
import type { Models, ThinkingLevel } from "@svc/sdk/models";
import type { Sessions } from "@svc/sdk/sessions";
import type { Statement, Storage } from "@svc/sdk/storage";
import { announcement } from "./announcement.ts";
import type { AgentsConfig } from "../config.ts";
import { type ConfiguredAgents, meantAgentId } from "../directory/directory.ts";
import { isSubagentKey, narrowed, SUBAGENT, SUBAGENT_RESULT, subagentSettings } from "./settings.ts";
import { type Subrun, SubrunStore } from "./store.ts";

/** Choice: maximum number of rows of each kind that one sweep handles. */
const SWEEP_LIMIT = 50;

export interface SubagentSources {
  readonly services: {
    readonly storage: Storage;
    readonly sessions: Sessions;
    readonly models: Models;
    readonly credentials: Pick<Credentials, "isLive">;
  };
  readonly agents: ConfiguredAgents;
  readonly config: () => AgentsConfig;
  /** Archives the session of an ended sub-run with its transcript. */
  readonly archiveSession: (sessionKey: string) => Promise<void>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
}

/** The part of `Runs` that is used here. */
export interface RunStarter {
  /** Accepts a run in one transaction with `alongside`. */
  accept(request: RunRequest, alongside: readonly Statement[]): Promise<unknown>;
}

/** The parameters of `spawn`. */
export interface SpawnWish {
  readonly task: string;
  readonly agentId?: string;
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  /** seconds; 0: as for other runs */
  readonly runTimeoutSeconds?: number;
  readonly label?: string;
}

/** The run that calls `spawn`. */
export interface Parent {
  readonly runId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly principal: Principal;
  /** Least trusted author of the text its model saw; absent: only the owner. */
  readonly origin?: Origin;
}

export class Subagents {
  readonly #sources: SubagentSources;
  readonly #runs: RunStarter;
  readonly #store: SubrunStore;

  constructor(sources: SubagentSources, runs: RunStarter) {
    this.#sources = sources;
    this.#runs = runs;
    this.#store = new SubrunStore(sources.services);
  }

  /**
   * Starts a sub-run in its own session. Durable when it resolves.
   * @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND` or `UNAVAILABLE` with the limit in its message
   */
  async spawn(wish: SpawnWish, parent: Parent): Promise<{ readonly runId: string; readonly sessionKey: string }> {
    const { services, clock } = this.#sources;
    const { sessions } = services;
    const agentId = this.#target(wish, parent);
    const { subagents } = this.#sources.config().defaults;
    const [entry, open] = await Promise.all([sessions.get(parent.sessionKey), this.#store.open(parent.sessionKey)]);
    const depth = Number(entry?.["spawnDepth"] ?? 0) + 1;
    if (depth > subagents.maxSpawnDepth) {
      invalidRequest(
        `sub-agents may be nested ${subagents.maxSpawnDepth} deep (agents.defaults.subagents.maxSpawnDepth); do this task yourself`,
      );
    }
    if (open.length >= subagents.maxChildrenPerAgent) {
      unavailable(
        `this session already has ${open.length} active sub-agents, which is the limit ` +
          "(agents.defaults.subagents.maxChildrenPerAgent); wait for one to report, or stop one",
      );
    }
    const runId = randomUUID();
    const sessionKey = sessions.canonicalKey(`agent:${agentId}:subagent:${randomUUID()}`);
    const label = wish.label === undefined ? {} : { label: wish.label };
    await sessions.ensure(sessionKey, { spawnedBy: parent.sessionKey, spawnDepth: depth, ...label });
    const timeoutSeconds = wish.runTimeoutSeconds ?? subagents.runTimeoutSeconds;
    const request: RunRequest = {
      runId,
      sessionKey,
      message: wish.task,
      source: SUBAGENT,
      lane: SUBAGENT,
      parentRunId: parent.runId,
      principal: narrowed(parent.principal),
      origin: parent.origin ?? originOf(parent.principal), // the run itself has fewer scopes than the caller
      extraSystemPrompt: PROMPT,
      ...(wish.model === undefined ? {} : { model: wish.model }),
      ...(wish.thinking === undefined ? {} : { thinking: wish.thinking }),
      ...(timeoutSeconds === 0 ? {} : { timeoutMs: timeoutSeconds * 1_000 }),
    };
    const subrun = { runId, sessionKey, parentRunId: parent.runId, parentKey: parent.sessionKey, ...label };
    const row = this.#store.add({ ...subrun, principal: parent.principal, createdAt: clock.now() });
    await this.#runs.accept(request, [row]);
    return { runId, sessionKey };
  }

  /** Waiting and running sub-runs of a session, oldest first. */
  open(parentKey: string): Promise<readonly Subrun[]> {
    return this.#store.open(parentKey);
  }

  /** The last sub-runs of a session, newest first. */
  latest(parentKey: string, limit: number): Promise<readonly Subrun[]> {
    return this.#store.latest(parentKey, limit);
  }

  /** Announces the outcome of a sub-run to the session of its parent, once; the next `sweep` retries a failure. Never rejects. */
  async ended(runId: string): Promise<void> {
    try {
      const subrun = await this.#store.find(runId);
      if (subrun && !subrun.isAnnounced) await this.#announce(subrun);
    } catch (error) {
      this.#sources.log.warn(
        { err: error, runId },
        "the result of a sub-run could not be announced; retrying at the next sweep",
      );
    }
  }

  /** Announces outcomes that were not announced yet. To be called at the start and regularly. */
  async announceOwed(): Promise<void> {
    for (const { runId } of await this.#store.unannounced(SWEEP_LIMIT)) await this.ended(runId);
  }

  /** Archives sessions of sub-runs that ended at least `archiveAfterMinutes` ago. */
  async archiveOld(): Promise<void> {
    const { clock, config, archiveSession, services, log } = this.#sources;
    const before = clock.now() - config().defaults.subagents.archiveAfterMinutes * 60_000;
    for (const { runId, sessionKey } of await this.#store.forArchive(before, SWEEP_LIMIT)) {
      try {
        await archiveSession(sessionKey);
        await services.storage.transaction([this.#store.archived(runId, clock.now())]);
      } catch (error) {
        log.warn(
          { err: error, sessionKey },
          "the session of a sub-run could not be archived; retrying at the next sweep",
        );
      }
    }
  }

  async #announce(subrun: Subrun): Promise<void> {
    const { clock, services } = this.#sources;
    const settled = this.#store.announced(subrun.runId, clock.now());
    const message = announcement(subrun);
    // Not announced once the parent's credential has ended; a deleted parent session is not created again.
    const isAwaited = services.credentials.isLive(subrun.principal) && (await services.sessions.get(subrun.parentKey));
    if (message === undefined || !isAwaited) {
      await services.storage.transaction([settled]);
      return;
    }
    const request: RunRequest = {
      runId: `${SUBAGENT_RESULT}-${subrun.runId}`,
      sessionKey: subrun.parentKey,
      message,
      source: SUBAGENT_RESULT,
      ...(isSubagentKey(subrun.parentKey) ? { lane: SUBAGENT } : {}),
      principal: subrun.principal,
      ...(subrun.outcome?.origin === undefined ? {} : { origin: subrun.outcome.origin }),
    };
    await this.#runs.accept(request, [settled]);
  }

  #target(wish: SpawnWish, parent: Parent): string {
    const { agents, config, services } = this.#sources;
    const target = wish.agentId === undefined ? parent.agentId : meantAgentId(wish.agentId);
    if (!agents.has(target))
      notFound(
        `no agent "${target || wish.agentId}"; configured: ${agents
          .list()
          .map(({ id }) => id)
          .join(", ")}`,
      );
    if (!subagentSettings(config(), parent.agentId).mayStart(target)) {
      invalidRequest(
        `agent "${parent.agentId}" may not start sub-agents of "${target}"; an admin can allow it in subagents.allowAgents of "${parent.agentId}"`,
      );
    }
    if (wish.model !== undefined) services.models.resolve(wish.model);
    return target;
  }
}

const PROMPT =
  "You work as a sub-agent: another agent gave you the task in the first message and continues with other work. " +
  "Nobody reads along, so do not ask questions; decide what is left open, and state your assumptions. Your last message is " +
  "passed to that agent as the result: make it complete, and mention what could not be done.";
