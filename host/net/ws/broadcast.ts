/**
 * Sends events to connections: each is encoded once, and receivers of the same content share one frame.
 *
 * Only events that every connection receives are numbered, so a healthy client never sees a gap; events for a
 * scope or for named connections carry no number. Clients that can resume get a cursor on the events they can
 * request again. Spec: spec/README.md "seq"; §6.
 *
 * With a backplane, events that are not `local` get their place, number and cursor there, the same for the clients of all gateways.
 */
import { randomUUID } from "node:crypto";
import { type Audience, coversScope, type EventSpec } from "@svc/sdk";
import type { BackplaneEnd, Carrier, SharedEvent, SharedPlace } from "@svc/sdk/gateway";
import { type EventCursor, type Generation, MAX_PAYLOAD_BYTES, StateVersion } from "@svc/sdk/protocol";
import { EventFrames } from "./event-frames.ts";
import { type ReplayEntry, ReplayLog } from "./replay.ts";
import { type AudienceSpec, decode, type Emission, type Place, SharedEvents } from "./shared-events.ts";

/** The part of a connection that events need. */
export interface Receiver {
  readonly id: string;
  readonly role: "operator" | "node";
  readonly scopes: readonly string[];
  readonly generation: Generation;
  /** The client announced the cap `resume`. */
  readonly resumes: boolean;
  /** Queues one frame. A slow reader misses a droppable frame, and is disconnected on any other. */
  deliver(frame: Buffer, droppable: boolean): void;
}

export interface BroadcasterOptions {
  /** Called for each event: whether events that older gateways sent to every connection still go to all. */
  readonly formerlyForAll?: () => boolean;
  /** Called with each event of another gateway. @param text JSON of the payload */
  readonly heard?: (name: string, text: string | undefined, isTargeted: boolean) => void;
  /** Called with each note of a gateway, also of this one. */
  readonly noted?: (text: string) => void;
  /** Called when this gateway begins to get notes, and when some may have been lost. */
  readonly renewed?: () => void;
  readonly members?: (self: string | undefined, present: ReadonlySet<string>) => void;
  /** Called when the connections have missed events of other gateways. */
  readonly missed?: () => void;
}

type Versions = { -readonly [K in keyof StateVersion]: StateVersion[K] };

/** Snapshot events whose versions the wire can carry. */
const VERSIONED = Object.keys(StateVersion.properties);
/** Characters at the beginning of connection ids that name their gateway. */
const MARK_CHARS = 8;

export class Broadcaster {
  readonly #options: BroadcasterOptions;
  readonly #receivers = new Map<string, Receiver>();
  /** By connection: it has seen events up to this position at another gateway, which are still on their way here. */
  readonly #ahead = new Map<string, number>();
  /** Versions start at 1. Spec: protocol/frames-and-connect.md §11. */
  readonly #versions = Object.fromEntries(VERSIONED.map((name) => [name, 1])) as Versions;
  readonly #mark = randomUUID().slice(0, MARK_CHARS);
  #seq = 0;
  /** Created when the first client that can resume connects, or by the backplane. */
  #replay: ReplayLog | undefined;
  #shared: SharedEvents | undefined;
  /** The backplane numbers events; while it is away, none has a number. */
  #isNumberedElsewhere = false;

  constructor(options: BroadcasterOptions = {}) {
    this.#options = options;
  }

  /** A new id. Gateways on one state recognize the ids of their connections. */
  connectionId(): string {
    return this.#mark + randomUUID().slice(MARK_CHARS);
  }

  /** @param after position up to which it has seen events */
  add(receiver: Receiver, after = 0): void {
    this.#receivers.set(receiver.id, receiver);
    if (after > (this.#replay?.cursor.n ?? 0)) this.#ahead.set(receiver.id, after);
  }

  remove({ id }: Receiver): void {
    this.#receivers.delete(id);
    this.#ahead.delete(id);
  }

  get stateVersion(): StateVersion {
    return { ...this.#versions };
  }

  /** Number of the last event that this gateway has numbered itself. */
  get seq(): number {
    return this.#seq;
  }

  /** Events go through the carrier from now on. */
  join(carrier: Carrier, place: SharedPlace): BackplaneEnd {
    const shared = new SharedEvents({
      carrier,
      isHere: (id) => id.startsWith(this.#mark),
      deliver: (emission, at) => this.#deliver(emission, at),
      noted: (text) => this.#options.noted?.(text),
    });
    this.#isNumberedElsewhere = true;
    const begin = ({ epoch, n, history }: SharedPlace) => {
      this.#replay = new ReplayLog({ epoch, n: (history[0]?.n ?? n + 1) - 1, isShared: true });
      for (const { text, ...at } of history) {
        const emission = decode(text);
        if (typeof emission !== "string") this.#keep(emission, at);
      }
      this.#replay.reach(n);
      this.#shared = shared;
      this.#options.renewed?.();
    };
    begin(place);
    return {
      deliver: (events) => this.#arrive(shared, events),
      unsent: (count) => shared.unsent(count),
      renew: begin,
      missed: (next) => {
        begin(next);
        this.#options.missed?.();
      },
      members: (self, present) => this.#options.members?.(self, present),
      leave: () => {
        if (this.#shared === shared) this.#shared = undefined;
        this.#options.members?.(undefined, new Set());
        shared.end();
        this.#replay = undefined;
      },
    };
  }

  /** Sends a note to all gateways; does nothing without a backplane. */
  note(text: string): void {
    this.#shared?.note(text);
  }

  #arrive(shared: SharedEvents, events: readonly SharedEvent[]): void {
    for (const event of events) {
      const foreign = shared.deliver(event);
      this.#replay?.reach(event.n);
      if (foreign) this.#options.heard?.(foreign.event.name, foreign.text, foreign.connections !== undefined);
    }
  }

  /** @returns the cursor at which events begin for a client that can resume, and the events it missed; `undefined` when some of them were dropped */
  resume(since: EventCursor | undefined): { cursor: EventCursor; missed: readonly ReplayEntry[] | undefined } {
    this.#replay ??= new ReplayLog();
    const { cursor } = this.#replay;
    return { cursor, missed: since === undefined ? [] : this.#replay.since(since) };
  }

  /** Sends the missed events that the client may see. Call it before `add`. */
  replay(missed: readonly ReplayEntry[], receiver: Receiver): void {
    for (const { emission, seq, n } of missed) {
      if (!(this.#isForAll(emission.event) || mayReceive(emission.event, receiver, false)) || !this.#replay) continue;
      const frames = new EventFrames(emission, { seq, cursor: { epoch: this.#replay.epoch, n } });
      receiver.deliver(frames.for(receiver), emission.isDroppable);
    }
  }

  /**
   * Never throws because of a receiver. Each receiver gets events in the order of the calls.
   * @throws Error the event is larger than clients accept; they would all close their connections
   */
  publish(event: EventSpec, payload: unknown, { connections, droppable }: Audience = {}): void {
    const stateVersion = event.snapshot ? this.#raise(event.name) : undefined;
    const shared = event.local ? undefined : this.#shared;
    const isForAll = this.#isForAll(event);
    const isKept = connections === undefined && this.#replay !== undefined && !this.#isAside(event);
    const leaves = shared?.leaves(connections) ?? false;
    const receivers = leaves ? [] : this.#audience({ event, isForAll, connections });
    if (!leaves && !isKept && receivers.length === 0) return;
    const text = JSON.stringify(payload) as string | undefined; // undefined without a payload
    if (text !== undefined && text.length > MAX_PAYLOAD_BYTES.afterConnect)
      throw new Error(
        `event ${event.name} is too large: ${text.length} bytes; clients accept at most ${MAX_PAYLOAD_BYTES.afterConnect}`,
      );
    const isDroppable = droppable ?? event.droppable ?? false;
    const emission = { event, text, isForAll, connections, isDroppable, stateVersion };
    if (shared) shared.publish(emission);
    else this.#deliver(emission, this.#placeHere(event, emission), { receivers, payload });
  }

  /** An event outside of the common order: it has neither number nor cursor. */
  #isAside({ local }: EventSpec): boolean {
    return local === true && this.#shared !== undefined;
  }

  /** The place of an event that only this gateway delivers. */
  #placeHere(event: EventSpec, { isForAll, connections }: Emission): Place | undefined {
    if (connections !== undefined || this.#isAside(event)) return undefined;
    const isNumbered = isForAll && this.#receivers.size > 0 && !this.#isNumberedElsewhere;
    return { n: (this.#replay?.cursor.n ?? 0) + 1, seq: isNumbered ? ++this.#seq : undefined };
  }

  /** @param known the receivers, and the payload from which the text was made, when they are at hand */
  #deliver(emission: Emission, place?: Place, known?: { receivers: readonly Receiver[]; payload: unknown }): void {
    const { receivers, payload } = known ?? { receivers: this.#audience(emission), payload: undefined };
    const cursor = place && this.#keep(emission, place);
    const frames = new EventFrames(emission, { seq: place?.seq, cursor }, payload);
    for (const receiver of receivers) {
      if (cursor && this.#ahead.size > 0 && this.#hasSeen(receiver, cursor.n)) continue;
      receiver.deliver(frames.for(receiver), emission.isDroppable);
    }
  }

  /** @returns its cursor; `undefined`: no client can request it again */
  #keep(emission: Emission, { n, seq }: Place): EventCursor | undefined {
    if (!this.#replay || emission.connections !== undefined) return undefined;
    this.#replay.append({ emission, n, seq });
    return { epoch: this.#replay.epoch, n };
  }

  #hasSeen({ id }: Receiver, n: number): boolean {
    const ahead = this.#ahead.get(id);
    if (ahead === undefined) return false;
    if (n >= ahead) this.#ahead.delete(id);
    return n <= ahead;
  }

  #raise(name: string): StateVersion | undefined {
    if (!isVersioned(name)) return undefined;
    this.#versions[name]++;
    return this.stateVersion;
  }

  #isForAll({ scope, formerlyForAll }: AudienceSpec): boolean {
    return scope === undefined || (formerlyForAll === true && this.#options.formerlyForAll?.() === true);
  }

  #audience({ event, isForAll, connections }: Pick<Emission, "event" | "isForAll" | "connections">): Receiver[] {
    const candidates = connections
      ? connections.flatMap((id) => this.#receivers.get(id) ?? [])
      : [...this.#receivers.values()];
    if (isForAll) return candidates;
    return candidates.filter((receiver) => mayReceive(event, receiver, connections !== undefined));
  }
}

function mayReceive({ scope, formerlyForAll }: AudienceSpec, { role, scopes }: Receiver, isNamed: boolean): boolean {
  if (role === "node") return isNamed && formerlyForAll === true;
  return scope === undefined || coversScope(scopes, scope);
}

function isVersioned(name: string): name is keyof StateVersion {
  return VERSIONED.includes(name);
}
