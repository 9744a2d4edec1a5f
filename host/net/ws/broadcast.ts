/**
 * Sends events to connections: each is encoded once, and receivers of the same content share one frame.
 *
 * Only events that every connection receives are numbered, so a healthy client never sees a gap; events for a
 * scope or for named connections carry no number. Clients that can resume get a cursor on the events they can
 * request again. Spec: spec/README.md "seq"; §6.
 */
import { type Audience, coversScope, type EventSpec } from "@svc/sdk";
import { type EventCursor, MAX_PAYLOAD_BYTES, StateVersion } from "@svc/sdk/protocol";
import { encodeEventText } from "./frame-codec.ts";
import { type ReplayEntry, ReplayLog } from "./replay.ts";

/** The part of a connection that events need. */
export interface Receiver {
  readonly id: string;
  readonly role: "operator" | "node";
  readonly scopes: readonly string[];
  /** The client announced the cap `resume`. */
  readonly resumes: boolean;
  /** Queues one frame. A slow reader misses a droppable frame, and is disconnected on any other. */
  deliver(frame: Buffer, droppable: boolean): void;
}

type Versions = { -readonly [K in keyof StateVersion]: StateVersion[K] };

/** Snapshot events whose versions the wire can carry. */
const VERSIONED = Object.keys(StateVersion.properties);

export class Broadcaster {
  readonly #isForAll: (event: EventSpec) => boolean;
  readonly #receivers = new Map<string, Receiver>();
  /** Versions start at 1. Spec: protocol/frames-and-connect.md §11. */
  readonly #versions = Object.fromEntries(VERSIONED.map((name) => [name, 1])) as Versions;
  #seq = 0;
  /** Created when the first client that can resume connects. */
  #replay: ReplayLog | undefined;

  /** @param formerlyForAll called for each event: whether events that older gateways sent to every connection still go to all */
  constructor(formerlyForAll: () => boolean = () => false) {
    this.#isForAll = (event) => event.scope === undefined || (event.formerlyForAll === true && formerlyForAll());
  }

  add(receiver: Receiver): void {
    this.#receivers.set(receiver.id, receiver);
  }

  remove({ id }: Receiver): void {
    this.#receivers.delete(id);
  }

  get stateVersion(): StateVersion {
    return { ...this.#versions };
  }

  /** @returns the cursor at which events begin for a client that can resume, and the events it missed; `undefined` when some of them were dropped */
  resume(since: EventCursor | undefined): { cursor: EventCursor; missed: readonly ReplayEntry[] | undefined } {
    this.#replay ??= new ReplayLog();
    const { cursor } = this.#replay;
    return { cursor, missed: since === undefined ? [] : this.#replay.since(since) };
  }

  /** Sends the missed events that the client may see. Call it before `add`. */
  replay(missed: readonly ReplayEntry[], receiver: Receiver): void {
    for (const { event, payload, seq, stateVersion, n } of missed) {
      if (!(this.#isForAll(event) || mayReceive(event, receiver, false)) || !this.#replay) continue;
      const cursor = { epoch: this.#replay.epoch, n };
      receiver.deliver(encodeEventText(event.name, payload, { seq, stateVersion, cursor }), event.droppable ?? false);
    }
  }

  /**
   * Never throws because of a receiver. Each receiver gets events in the order of the calls.
   * @throws Error the event is larger than clients accept; they would all close their connections
   */
  publish(event: EventSpec, payload: unknown, audience: Audience = {}): void {
    const receivers = this.#audience(event, audience);
    const isTargeted = audience.connections !== undefined;
    const stateVersion = event.snapshot ? this.#raise(event.name) : undefined;
    if (receivers.length === 0 && (isTargeted || !this.#replay)) return;
    const text = JSON.stringify(payload) as string | undefined; // undefined without a payload
    if (text !== undefined && text.length > MAX_PAYLOAD_BYTES.afterConnect)
      throw new Error(
        `event ${event.name} is too large: ${text.length} bytes; clients accept at most ${MAX_PAYLOAD_BYTES.afterConnect}`,
      );
    const seq = !isTargeted && this.#isForAll(event) && this.#receivers.size > 0 ? ++this.#seq : undefined;
    const kept = isTargeted ? undefined : this.#replay?.append({ event, payload: text, seq, stateVersion });
    const droppable = audience.droppable ?? event.droppable ?? false;
    let plain: Buffer | undefined;
    let marked: Buffer | undefined;
    for (const receiver of receivers) {
      if (receiver.resumes && kept && this.#replay) {
        const cursor = { epoch: this.#replay.epoch, n: kept.n };
        receiver.deliver((marked ??= encodeEventText(event.name, text, { seq, stateVersion, cursor })), droppable);
      } else {
        receiver.deliver((plain ??= encodeEventText(event.name, text, { seq, stateVersion })), droppable);
      }
    }
  }

  #raise(name: string): StateVersion | undefined {
    if (!isVersioned(name)) return undefined;
    this.#versions[name]++;
    return this.stateVersion;
  }

  #audience(event: EventSpec, { connections }: Audience): Receiver[] {
    const candidates = connections
      ? connections.flatMap((id) => this.#receivers.get(id) ?? [])
      : [...this.#receivers.values()];
    if (this.#isForAll(event)) return candidates;
    return candidates.filter((receiver) => mayReceive(event, receiver, connections !== undefined));
  }
}

function mayReceive({ scope, formerlyForAll }: EventSpec, { role, scopes }: Receiver, isNamed: boolean): boolean {
  if (role === "node") return isNamed && formerlyForAll === true;
  return scope === undefined || coversScope(scopes, scope);
}

function isVersioned(name: string): name is keyof StateVersion {
  return VERSIONED.includes(name);
}
