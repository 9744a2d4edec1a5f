/** The events of one run: numbered, passed to hooks, and broadcast if clients may see them. */
import type { Emit, PayloadOf } from "@svc/sdk";
import type { agentEvent, RunEvent, RunOutcome, RunRequest } from "@svc/sdk/agents";
import type { SessionEntry } from "@svc/sdk/sessions";

/** Receivers of events. */
export interface EventSinks {
  trace(event: RunEvent): void;
  /** Passes an event to the other gateways, where somebody may wait for the run. */
  passOn(event: RunEvent): void;
  readonly broadcast: Emit<typeof agentEvent>;
  /** Agent of a canonical session key. */
  agentOf(sessionKey: string): string;
  /** epoch ms */
  now(): number;
}

/** Which parts of a run clients see. Spec: protocol/events.md §3. */
export interface Visibility {
  /** Tool results, not only the fact that there was one. */
  readonly toolResults: boolean;
  readonly thinking: boolean;
}

/** Session level, else the configured one, else off. Spec: events.md §3. */
export function visibilityOf(entry: SessionEntry | undefined, verboseDefault: string | undefined): Visibility {
  return {
    toolResults: (entry?.verboseLevel ?? verboseDefault ?? "off") === "full",
    thinking: entry?.["reasoningLevel"] === "stream",
  };
}

type Subject = Pick<RunRequest, "runId" | "sessionKey" | "acknowledgement">;

export class RunEvents {
  readonly #run: Subject;
  readonly #sinks: EventSinks;
  /** Connections that receive tool events. */
  readonly #connections = new Set<string>();
  #seq = 0;
  #agentId: string | undefined;
  /** Set once the session has been read. */
  sessionId: string | undefined;
  /** Another gateway has accepted the run. */
  isAdopted = false;
  /** Set once the session has been read. */
  visibility: Visibility = { toolResults: false, thinking: false };

  constructor(run: Subject, sinks: EventSinks) {
    this.#run = run;
    this.#sinks = sinks;
  }

  /** Sends tool events to this connection from now on. */
  join(connectionId: string | undefined): void {
    if (connectionId !== undefined) this.#connections.add(connectionId);
  }

  /** Passes an event to hooks that another gateway has sent to clients. */
  foreign(event: RunEvent): void {
    this.#seq = event.seq;
    this.#sinks.trace({ ...event, isForeign: true });
  }

  /** As `end`, if another gateway has sent the last event to clients. */
  foreignEnd(outcome: RunOutcome): void {
    const { runId, sessionKey } = this.#run;
    const data = { phase: outcome.status === "error" ? "error" : "end" };
    this.foreign({ runId, sessionKey, seq: this.#seq + 1, stream: "lifecycle", ts: this.#sinks.now(), data, outcome });
  }

  /** Emits the last event. Spec: events.md §3, `lifecycle`. */
  end(outcome: RunOutcome): void {
    const { status, startedAt, endedAt, errorMessage, stopReason } = outcome;
    const times = { ...(startedAt === undefined ? {} : { startedAt }), endedAt };
    if (status === "error") {
      this.emit("lifecycle", { phase: "error", ...times, error: errorMessage ?? "the run failed" }, outcome);
    } else {
      const how = { ...(stopReason && { stopReason }), ...(status === "aborted" ? { aborted: true } : {}) };
      this.emit("lifecycle", { phase: "end", ...times, ...how }, outcome);
    }
  }

  /** @param outcome of the run; only with its last event */
  emit(stream: RunEvent["stream"], data: RunEvent["data"], outcome?: RunOutcome): void {
    const { runId, sessionKey, acknowledgement } = this.#run;
    const { sessionId } = this;
    this.#seq += 1;
    const agentId = (this.#agentId ??= this.#sinks.agentOf(sessionKey));
    const session = { sessionKey, agentId, ...(sessionId === undefined ? {} : { sessionId }) };
    const event = { runId, seq: this.#seq, stream, ts: this.#sinks.now(), data, ...session };
    const quiet = acknowledgement ? { isQuiet: true as const } : {};
    const whole = { ...event, ...quiet, ...(outcome ? { outcome } : {}) };
    this.#sinks.trace(whole);
    if (this.isAdopted) this.#sinks.passOn(whole);
    if (stream === "thinking" && !this.visibility.thinking) return;
    if (stream !== "tool") return this.#sinks.broadcast(event);
    if (this.#connections.size === 0) return;
    this.#sinks.broadcast(forClients(event, this.visibility), { connections: [...this.#connections] });
  }
}

/** Removes the result from a tool event if clients may not see it. */
function forClients(event: PayloadOf<typeof agentEvent>, { toolResults }: Visibility): PayloadOf<typeof agentEvent> {
  if (toolResults || !("result" in event.data)) return event;
  const { result: _hidden, ...data } = event.data;
  return { ...event, data };
}
