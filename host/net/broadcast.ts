/**
 * Events to connections: encoded once, one shared frame for all who get the same.
 *
 * Only events that every connection receives are numbered, so a healthy client never sees a hole; events for a
 * scope or for named connections carry no number. Spec: spec/README.md "seq"; §6.
 */
import { type Audience, coversScope, type EventSpec, StateVersion } from "@svc/sdk";
import { encodeEvent } from "./frame-codec.ts";

/** The part of a connection events need. */
export interface Receiver {
  readonly id: string;
  readonly role: "operator" | "node";
  readonly scopes: readonly string[];
  /** Queues one frame; a slow reader misses it when `droppable`, else is cut off. */
  deliver(frame: Buffer, droppable: boolean): void;
}

type Versions = { -readonly [K in keyof StateVersion]: StateVersion[K] };

/** Snapshot events whose versions the wire can carry. */
const VERSIONED = Object.keys(StateVersion.properties);

export class Broadcaster {
  readonly #receivers = new Map<string, Receiver>();
  /** Versions start at 1. Spec: protocol/frames-and-connect.md §11. */
  readonly #versions = Object.fromEntries(VERSIONED.map((name) => [name, 1])) as Versions;
  #seq = 0;

  add(receiver: Receiver): void {
    this.#receivers.set(receiver.id, receiver);
  }

  remove({ id }: Receiver): void {
    this.#receivers.delete(id);
  }

  get stateVersion(): StateVersion {
    return { ...this.#versions };
  }

  /** Never throws because of a receiver. Order per receiver is the order of calls. */
  publish(event: EventSpec, payload: unknown, audience: Audience = {}): void {
    const stateVersion = event.snapshot ? this.#raise(event.name) : undefined;
    const receivers = this.#audience(event, audience);
    if (receivers.length === 0) return;
    const forAll = audience.connections === undefined && event.scope === undefined;
    const frame = encodeEvent(event.name, payload, forAll ? ++this.#seq : undefined, stateVersion);
    const droppable = audience.droppable ?? event.droppable ?? false;
    for (const receiver of receivers) receiver.deliver(frame, droppable);
  }

  #raise(name: string): StateVersion | undefined {
    if (!isVersioned(name)) return undefined;
    this.#versions[name]++;
    return this.stateVersion;
  }

  #audience({ scope }: EventSpec, { connections }: Audience): Receiver[] {
    const candidates = connections
      ? connections.flatMap((id) => this.#receivers.get(id) ?? [])
      : [...this.#receivers.values()];
    if (scope === undefined) return candidates;
    return candidates.filter(({ role, scopes }) => role === "operator" && coversScope(scopes, scope));
  }
}

function isVersioned(name: string): name is keyof StateVersion {
  return VERSIONED.includes(name);
}
