/** The queues of all sessions where something runs or waits, and what a new message does to the queue it comes to. */
import { unavailable } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/services";
import { compactCommand } from "../history/compaction-plan.ts";
import type { Environment } from "./environment.ts";
import type { Lanes } from "./lanes.ts";
import type { LiveRun } from "./live-run.ts";
import type { LiveRuns } from "./live-runs.ts";
import { type QueueConfig, queueSettings, type QueueSettings } from "./queue-settings.ts";
import { laneOf, SessionQueue, type Turn } from "./session-queue.ts";
import { SUBAGENT } from "../subagents/settings.ts";

export interface RunQueueOptions {
  readonly env: Pick<Environment, "services" | "clock">;
  /** `messages.queue`, as it is now. */
  readonly config: () => QueueConfig;
  readonly lanes: Pick<Lanes, "enter">;
  readonly live: Pick<LiveRuns, "get" | "ofSession">;
  /** Runs a turn to its end. @returns those of its runs that have to wait again */
  run(turn: Turn, queue: SessionQueue): Promise<readonly LiveRun[]>;
  abort(runId: string, reason: string): void;
}

export class RunQueues {
  readonly #options: RunQueueOptions;
  readonly #queues = new Map<string, SessionQueue>();

  constructor(options: RunQueueOptions) {
    this.#options = options;
  }

  /**
   * How a request waits; `undefined`: for its turn, without further rules. A command is never put together with
   * messages. The entry only matters, and is only read, while the session is busy.
   */
  async settings(request: RunRequest): Promise<QueueSettings | undefined> {
    const { sessionKey, queue: mode } = request;
    if (mode === undefined || compactCommand(request) !== undefined) return undefined;
    const { env, live, config } = this.#options;
    const isBusy = live.ofSession(sessionKey).length > 0;
    const entry = isBusy ? await env.services.sessions.get(sessionKey) : undefined;
    const channel = entry?.["channel"];
    return queueSettings(mode, entry, config(), typeof channel === "string" ? channel : undefined);
  }

  /**
   * For `drop: "new"`. Choice: refused before it is accepted, so that its sender knows.
   * @throws GatewayError `UNAVAILABLE`
   */
  refuseIfFull(sessionKey: string, settings: QueueSettings): void {
    if (settings.mode === "interrupt" || !this.#queues.get(sessionKey)?.makeRoom(settings).refuse) return;
    unavailable(`${settings.cap} messages wait for session ${sessionKey}, which is the most; send it again later`);
  }

  enqueue(run: LiveRun, settings: QueueSettings | undefined): void {
    run.queue = settings;
    const queue = this.#queueOf(run.request.sessionKey);
    if (settings?.mode === "interrupt") this.#interrupt(queue);
    else if (settings) this.#makeRoom(queue, settings);
    // Looked up again: with its last message gone a queue is forgotten, and another one stands for the session.
    this.#queueOf(run.request.sessionKey).add(run, { first: settings?.mode === "interrupt" });
  }

  /** Starts nothing more. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  /**
   * Clears the way for the newest message. Choice: only other messages are cleared; what the gateway itself has to
   * tell the session, and runs that were not sent under the rules of the queue, go on waiting.
   */
  #interrupt(queue: SessionQueue): void {
    for (const waiting of queue.held) this.#options.abort(waiting.id, "interrupted");
    if (queue.active) this.#options.abort(queue.active.id, "interrupted");
  }

  #makeRoom(queue: SessionQueue, settings: QueueSettings): void {
    const room = queue.makeRoom(settings);
    if (room.refuse) return; // it is accepted by now: several came at once
    for (const run of room.drop) this.#options.abort(run.id, "dropped");
    for (const run of room.summarize) run.isOverflow = true;
  }

  #queueOf(sessionKey: string): SessionQueue {
    const known = this.#queues.get(sessionKey);
    if (known) return known;
    const { env, lanes, live, run } = this.#options;
    const queue: SessionQueue = new SessionQueue({
      clock: env.clock,
      lanes,
      run: (turn) => run(turn, queue),
      // Choice: not for sub-runs, whose parents go on without them.
      isAwaited: ({ request: { parentRunId = "" } }, lane) => {
        const parent = live.get(parentRunId);
        return lane !== SUBAGENT && parent?.phase === "running" && laneOf(parent) === lane;
      },
      onEmpty: () => {
        if (this.#queues.get(sessionKey) === queue) this.#queues.delete(sessionKey);
      },
    });
    this.#queues.set(sessionKey, queue);
    return queue;
  }
}
