/**
 * Puts events into prompts: assigns each to one run, marks it as reported when that run succeeds, else lets it wait again.
 *
 * The assignment is stored before the model sees the events, so that a crash at any point can be recovered.
 */
import { AnySignal } from "@svc/kit/time";
import { type Clock, type HOOKS, type Logger, type InputOf, untilAborted } from "@svc/sdk";
import type { AgentDirectory, AgentRuns, RunOutcome } from "@svc/sdk/agents";
import type { OutsideWords } from "@svc/sdk/tools";
import type { EventStore } from "./event-store.ts";
import { eventSection, fitting, MAX_EVENTS, outsideOf } from "./prompt-section.ts";

/** Choice: milliseconds a prompt waits for the storage; less than the 5 s timeout of the hook `runPrompt`. */
export const PATIENCE_MS = 3_000;

interface TellingSources {
  readonly store: EventStore;
  readonly runs: Pick<AgentRuns, "state">;
  readonly agents: Pick<AgentDirectory, "timeZone">;
  /** Id of the owner that wakes sessions in this gateway. */
  readonly waker: () => string | null;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "warn">;
}

/** A run that has, or may get, events. */
interface Claim {
  /** A former generation assigned the events, so the end of the run may have been missed. */
  readonly isFormer?: true;
  /** Resolves when the assignment is finished; never rejects. */
  done: Promise<unknown>;
  /** The prompt with the events was returned. */
  isShown: boolean;
  /** Set once the run has ended. */
  endedOk?: boolean;
}

/** What happened to the events of a run. `urgent`: given back, and one of them asks for a wake. */
export type Settled = "none" | "told" | "given-back" | "urgent";

type Prompt = Readonly<InputOf<typeof HOOKS.runPrompt>>;

/** The prompt section about events. */
interface Section {
  readonly text: string;
  readonly outside: readonly OutsideWords[];
}

export class Telling {
  readonly #sources: TellingSources;
  readonly #claims = new Map<string, Claim>();
  /** Prompts being completed, and runs whose events are being settled. Never reject. */
  readonly #inFlight = new Set<Promise<unknown>>();
  #isStopped = false;

  constructor(sources: TellingSources) {
    this.#sources = sources;
  }

  /**
   * Adds the events of the session to the prompt; `undefined`: the prompt stays unchanged. Never rejects.
   * Choice: if the storage fails or takes longer than `PATIENCE_MS`, the run continues and the events wait for the next turn.
   * @param signal aborts when the result would be too late
   */
  async prompt(prompt: Prompt, signal: AbortSignal): Promise<Prompt | undefined> {
    if (this.#isStopped) return undefined;
    const { clock, log } = this.#sources;
    const inTime = new AnySignal(signal);
    const cancel = clock.setTimeout(() => inTime.abort(new Error("the storage takes too long")), PATIENCE_MS);
    const completed = this.#track(this.#completed(prompt, inTime.signal));
    try {
      return await untilAborted(completed, inTime.signal);
    } catch (error) {
      const { runId, sessionKey } = prompt;
      log.warn({ err: error, runId, sessionKey }, "events could not be read for a run; they wait for the next turn");
      return undefined;
    } finally {
      cancel();
      inTime.release();
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const done: Promise<unknown> = work.catch(() => undefined).finally(() => this.#inFlight.delete(done));
    this.#inFlight.add(done);
    return work;
  }

  /**
   * Assigns no more events. Resolves when assigned events are in a prompt and those of ended runs are settled. Active runs
   * continue without this plugin; its next generation marks the events of successful ones as reported.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#inFlight);
  }

  async #completed(prompt: Prompt, signal: AbortSignal): Promise<Prompt | undefined> {
    const { runId, sessionKey, system } = prompt;
    const taking = this.#take(sessionKey, runId);
    const claim: Claim = { done: taking.catch(() => undefined), isShown: false };
    this.#claims.set(runId, claim);
    const section = await taking;
    if (section === undefined) this.#claims.delete(runId);
    if (section === undefined || signal.aborted) return undefined; // the end of the run gives assigned events back
    claim.isShown = true;
    const { text, outside } = section;
    return {
      ...prompt,
      system: system === "" ? text : `${system}\n\n${text}`,
      outside: [...(prompt.outside ?? []), ...outside],
    };
  }

  /** To be called at the end of every run. Never rejects. */
  finished(outcome: Pick<RunOutcome, "runId" | "status">): Promise<Settled> {
    return this.#track(this.#finished(outcome));
  }

  async #finished({ runId, status }: Pick<RunOutcome, "runId" | "status">): Promise<Settled> {
    const claim = this.#claims.get(runId);
    if (!claim) return "none";
    await claim.done;
    claim.endedOk = status === "ok";
    return this.#settle(runId, claim.endedOk && claim.isShown, this.#sources.waker());
  }

  /**
   * Settles the events of ended runs of a former process or generation, and those that could not be settled before; follows
   * active runs to their end. To be called at the start, once interrupted runs are closed, and regularly. Nobody wakes a session yet for those that
   * wait again.
   */
  async catchUp(): Promise<void> {
    for (const runId of await this.#sources.store.tiedRuns()) {
      const claim = this.#claims.get(runId);
      if (claim && !claim.isFormer) {
        if (claim.endedOk !== undefined) await this.#settle(runId, claim.endedOk && claim.isShown, null);
        continue;
      }
      const status = (await this.#sources.runs.state(runId))?.status;
      if (status === "accepted" || status === "running")
        this.#claims.set(runId, { isFormer: true, done: Promise.resolve(), isShown: true });
      else await this.#settle(runId, status === "ok", null);
    }
  }

  async #take(sessionKey: string, runId: string): Promise<Section | undefined> {
    const { store, agents } = this.#sources;
    const events = fitting(await store.waiting(sessionKey, MAX_EVENTS, runId));
    if (events.length === 0) return undefined;
    const ids = events.flatMap(({ id, runId: had }) => (had === undefined ? [id] : []));
    const tied = await store.tie(ids, runId);
    const mine = events.filter(({ id, runId: had }) => had !== undefined || tied.has(id)); // the others were assigned to a run of another gateway
    if (mine.length === 0) return undefined;
    const text = eventSection(mine, await store.countWaiting(sessionKey), agents.timeZone);
    return { text, outside: outsideOf(mine) };
  }

  async #settle(runId: string, isTold: boolean, waker: string | null): Promise<Settled> {
    const { store, clock, log } = this.#sources;
    try {
      if (isTold) await store.told(runId, clock.now());
      const isUrgent = !isTold && (await store.giveBack(runId, waker));
      this.#claims.delete(runId);
      if (isTold) return "told";
      return isUrgent ? "urgent" : "given-back";
    } catch (error) {
      log.warn({ err: error, runId }, "the events of a run could not be settled; retrying within a minute");
      return "none";
    }
  }
}
